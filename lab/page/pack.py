#!/usr/bin/env python3
"""pack.py PROGRAM.js PROGRAM.wasm PROGRAM.data -o lab.html: the page and the program as one file, which opens without a network.

The same bytes for the same input: nothing has a date in it. --teacher adds the solutions of the lessons.
"""
import argparse
import base64
import gzip
import hashlib
import json
import pathlib
import re

here = pathlib.Path(__file__).parent
top = here.parent.parent
parts = ['engine.js', 'charts.js', 'yaml.js', 'controls.js', 'complete.js', 'results.js', 'course.js', 'explain.js', 'lab.js']

arguments = argparse.ArgumentParser(description=__doc__)
for name in ('program', 'wasm', 'data'):
    arguments.add_argument(name)
arguments.add_argument('-o', dest='output', required=True)
arguments.add_argument('--teacher', action='store_true')
asked = arguments.parse_args()


def read(path):
    return pathlib.Path(path).read_text(encoding='utf-8')


def packed(content):
    content = content if isinstance(content, bytes) else content.encode()
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


def hashed(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def looks():
    """Colour, dash and fill of each algorithm, as plots/style.gp has them."""
    style = read(top / 'plots/style.gp')
    own = {name: [colour, int(dash), int(fill)] for name, colour, dash, fill in
           re.findall(r"look_(\w+) = '(#\w{6}) \d+ (\d) (\d)'", style)}
    spare = re.search(r'spare_look\[\d+\] = \[([^\]]*)\]', style).group(1)
    return {'own': own, 'spare': [[c, int(d), int(f)] for c, d, f in re.findall(r"'(#\w{6}) \d+ (\d) (\d)'", spare)]}


def lessons():
    found = {}
    for folder in sorted((top / 'docs/course').glob('[0-9]*-*'), key=lambda f: int(f.name.split('-')[0])):
        page = read(folder / 'README.md')
        files = {file.name: read(file) for file in sorted(folder.glob('*.yaml'))}
        files |= {file.name: base64.b64encode(file.read_bytes()).decode() for file in sorted(folder.glob('*.png'))}
        if asked.teacher:
            files['solution.yaml'] = read(top / f'docs/course/solutions/{folder.name}.yaml')
        found[folder.name] = {'title': page.split('\n')[0].lstrip('# '), 'page': page, 'files': files}
    return found


style = re.search('<style>(.*?)</style>', read(top / 'command/analysis/report/page.html'), re.S).group(1) + read(here / 'lab.css')
script = '\n'.join(read(here / part) for part in parts).replace('</script', '<\\/script')
worker = read(asked.program) + '\n' + read(here / 'worker.js')
wasm, data = (packed(pathlib.Path(file).read_bytes()) for file in (asked.wasm, asked.data))
values = {
    'policy': "default-src 'none'; style-src " + hashed(style) + "; script-src 'wasm-unsafe-eval' blob: " + hashed(script)
              + "; worker-src blob:; connect-src 'none'; img-src data: blob:; base-uri 'none'; form-action 'none'",
    'style': style, 'script': script, 'looks': json.dumps(looks()), 'first': read(here / 'first.yaml'),
    'worker': worker.replace('</script', '<\\/script'), 'wasm': wasm, 'data': data, 'lessons': packed(json.dumps(lessons())),
    'version': re.search(r'project\([^)]*VERSION\s+([\d.]+)', read(top / 'CMakeLists.txt'), re.S).group(1),
}
page = re.sub(r'@(\w+)@', lambda found: values[found.group(1)], read(here / 'lab.html'))
pathlib.Path(asked.output).write_text(page, encoding='utf-8')
