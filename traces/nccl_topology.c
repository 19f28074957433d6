/**
 * @file nccl_topology.c
 * Reads the elements of a topology with expat. Each element has a chain of ancestors. The nearest
 * NIC of a GPU is the NIC whose chain shares the longest start with the GPU's chain.
 */
#include "traces/nccl_topology.h"

#include <expat.h>
#include <limits.h>

#include "traces/nccl.h"

enum { MOST_DEPTH = 64, MOST_DEVICES = 1024 };

/** A GPU or a port of a NIC. */
typedef struct device {
    int64_t chain[MOST_DEPTH]; /* numbers of the device's ancestors, the outermost ancestor first */
    size_t line, at_depth;
    const char *name, *bus; /* name: name of the device; bus: bus ID of its PCIe ancestor, NULL if
                             * it has none */
    double bytes_per_s; /* bandwidth of the NIC, or of all links of the GPU */
    double pci_bytes_per_s; /* bandwidth of the slowest PCIe link between the device and the root;
                             * INFINITY if unknown */
    int64_t links;
} device;

typedef struct devices {
    size_t n;
    device *v;
} devices;

typedef struct reading {
    dsgd_nccl_topology *t;
    XML_Parser parser;
    size_t lines_before;
    /* root: name of the root element; wrong: reason why reading stopped */
    const char *root, *wrong;
    size_t depth;
    int64_t n_elements, sm, gcn;
    device around; /* properties of the open element, which devices inside the element inherit */
    device outside[MOST_DEPTH]; /* the inherited properties of each ancestor of the open element */
    devices gpus, nics;
    devices gpu_slots, nic_slots; /* PCI devices that have the class of GPUs or the class of NICs */
    size_t n_targets, n_hosts;
    const char **targets, **hosts; /* targets: bus IDs at which links between GPUs end; hosts:
                                    * hashes of hosts */
} reading;

/*
 * Newer versions of expat rename XML_GetCurrentLineNumber(), but older versions lack the new name.
 */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static size_t line_of(const reading *r)
{
    return r->lines_before + XML_GetCurrentLineNumber(r->parser);
}
#pragma GCC diagnostic pop

static const struct {
    const char *device, *name;
} gpu_names[] = {/* PCI device IDs, from pci.ids */
                 {"0x1db1", "V100"},   {"0x1db4", "V100"},  {"0x1db5", "V100"},
                 {"0x1db8", "V100"},   {"0x20b0", "A100"},  {"0x20b2", "A100"},
                 {"0x20b5", "A100"},   {"0x20f1", "A100"},  {"0x2330", "H100"},
                 {"0x2331", "H100"},   {"0x2335", "H200"},  {"0x2342", "GH200"},
                 {"0x2901", "B200"},   {"0x738c", "MI100"}, {"0x7408", "MI250X"},
                 {"0x740c", "MI250X"}, {"0x74a1", "MI300X"}};

static const char *attribute(const char **attributes, const char *name)
{
    for (; *attributes != NULL; attributes += 2)
        if (strcmp(*attributes, name) == 0)
            return attributes[1];
    return "";
}

static double number(const char **attributes, const char *name)
{
    const double x = strtod(attribute(attributes, name), NULL);
    return x > 0 && x < 1e15 ? x : 0;
}

static void note_word(const char ***words, size_t *n, const char *word)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp((*words)[i], word) == 0)
            return;
    if (*n == MOST_DEVICES)
        return;
    *words = dsgd_keep_more(*words, *n + 1, sizeof **words);
    (*words)[(*n)++] = dsgd_xstrdup(word);
}

static device *add_device(reading *r, devices *to, const char *name)
{
    if (to->n == MOST_DEVICES)
        r->wrong = "more than 1024 GPUs or NICs";
    to->v = dsgd_keep_more(to->v, to->n + 1, sizeof *to->v);
    device *const d = &to->v[r->wrong == NULL ? to->n++ : to->n];
    *d = r->around;
    d->name = dsgd_xstrdup(name);
    return d;
}

static void read_pci(reading *r, const char **a)
{
    const double speed = number(a, "link_speed"),
                 lane = speed < 8 ? 0.6 : 0.75; /* usable share of the transfer rate in GT/s */
    const double rate = speed * lane * number(a, "link_width") * 1e9 / 8;
    const char *const class = attribute(a, "class"), *const id = attribute(a, "device");
    r->around.bus = dsgd_xstrdup(attribute(a, "busid"));
    if (rate > 0)
        r->around.pci_bytes_per_s = fmin(rate, r->around.pci_bytes_per_s);
    for (size_t i = 0; i < sizeof gpu_names / sizeof gpu_names[0]; i++)
        if (strcmp(id, gpu_names[i].device) == 0)
            r->t->gpu = gpu_names[i].name;
    if (strncmp(class, "0x0302", 6) == 0 || strncmp(class, "0x0380", 6) == 0)
        add_device(r, &r->gpu_slots, dsgd_xprintf("%zu", r->gpu_slots.n));
    else if (strncmp(class, "0x02", 4) == 0)
        add_device(r, &r->nic_slots, r->around.bus);
}

/**
 * NVIDIA's GPUs with at least compute capability sm: their generation, and NCCL's bandwidth of a
 * link in GB/s.
 */
typedef struct capability {
    int64_t sm;
    int generation;
    double link;
} capability;

static const capability capabilities[] = {
    {100, DSGD_GPU_BLACKWELL, 40.1}, {90, DSGD_GPU_HOPPER, 20.6}, {87, DSGD_GPU_AMPERE, 20},
    {86, DSGD_GPU_AMPERE, 12},       {80, DSGD_GPU_AMPERE, 20},   {70, DSGD_GPU_VOLTA, 20},
    {INT64_MIN, DSGD_GPU_VOLTA, 18}};

static const capability *capability_of(int64_t sm)
{
    const capability *c = capabilities;
    while (sm < c->sm)
        c++;
    return c;
}

/** Returns the bandwidth that RCCL assumes for a link between AMD's GPUs, in GB/s. */
static double xgmi_rate(int64_t gcn)
{
    return gcn >= 0x940 && gcn < 0xa00 ? 48 : gcn == 0x90a || gcn == 0x910 ? 36 : 24;
}

static void read_link(reading *r, const char **a, bool amd)
{
    device *const gpu = r->gpus.n > 0 ? &r->gpus.v[r->gpus.n - 1] : NULL;
    const double count = number(a, "count");
    if (gpu == NULL || count < 1 || count > 1000)
        return;
    gpu->links += (int64_t)count;
    gpu->bytes_per_s += count * (amd ? xgmi_rate(r->gcn) : capability_of(r->sm)->link) * 1e9;
    if (strcmp(attribute(a, "tclass"), "0x068000") == 0)
        r->t->has_switch = true;
    else
        note_word(&r->targets, &r->n_targets, attribute(a, "target"));
}

/**
 * Returns true if a network interface belongs to a container or a bridge. NCCL's list of sockets
 * also contains such interfaces.
 */
static bool is_virtual(const char *name)
{
    static const char *const begins[] = {"veth", "br-", "cali", "tunl", "docker", "virbr"};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

static void read_element(reading *r, const char *name, const char **a)
{
    if (strcmp(name, "pci") == 0)
        read_pci(r, a);
    else if (strcmp(name, "gpu") == 0) {
        /* The attribute gcn is, for example, 910 or gfx90a:sramecc+:xnack-. */
        const char *const gcn = attribute(a, "gcn");
        add_device(r, &r->gpus, attribute(a, "dev"));
        r->gcn = strtoll(gcn + (strncmp(gcn, "gfx", 3) == 0 ? 3 : 0), NULL, 16);
        r->sm = (int64_t)number(a, "sm");
    } else if (strcmp(name, "net") == 0 && !is_virtual(attribute(a, "name"))) {
        static const double most = 1e7; /* 10 Tb/s in Mb/s; no port is faster than this */
        const double speed = number(a, "speed");
        add_device(r, &r->nics, attribute(a, "name"))->bytes_per_s =
            speed > most ? 0 : speed * 1e6 / 8;
        if (speed > most)
            r->t->warnings = dsgd_xprintf(
                "%sline %zu: ignored the speed of a NIC, %g Mb/s, which is above 10 Tb/s\n",
                r->t->warnings, r->around.line, speed);
        if (number(a, "latency") > 0)
            r->t->network_latency_s = (dsgd_said){number(a, "latency") * 1e-6, r->around.line};
    } else if (strcmp(name, "nvlink") == 0 || strcmp(name, "xgmi") == 0)
        read_link(r, a, *name == 'x');
    else if (strcmp(name, "cpu") == 0) {
        r->t->amd_host = r->t->amd_host || strcmp(attribute(a, "vendor"), "AuthenticAMD") == 0;
        if (*attribute(a, "host_hash") != '\0')
            note_word(&r->hosts, &r->n_hosts, attribute(a, "host_hash"));
        r->t->hosts.line = r->around.line;
    }
}

static void XMLCALL begin_element(void *data, const char *name, const char **attributes)
{
    reading *const r = data;
    r->around.line = line_of(r);
    if (r->depth == 0)
        r->root = dsgd_xstrdup(name);
    if (r->depth == MOST_DEPTH)
        r->wrong = "elements are nested more than 64 levels deep";
    if (r->wrong == NULL && strcmp(r->root, "system") == 0) {
        r->outside[r->depth] = r->around;
        r->around.chain[r->depth] = ++r->n_elements;
        r->around.at_depth = ++r->depth;
        read_element(r, name, attributes);
    }
    if (r->wrong != NULL || strcmp(r->root, "system") != 0)
        XML_StopParser(r->parser, XML_FALSE);
}

static void XMLCALL end_element(void *data, const char *name)
{
    reading *const r = data;
    (void)name;
    if (r->depth == 0)
        return;
    r->around = r->outside[--r->depth];
    if (r->depth == 0)
        XML_StopParser(r->parser, XML_FALSE); /* Stop after the topology, because a web page may
                                               * continue with other text. */
}

/* --- properties of the node ------------------------------------------------------------------- */

/** Returns the number of ancestors that a GPU and a NIC share. */
static int nearness(const device *gpu, const device *nic)
{
    int n = 0;
    while ((size_t)n < gpu->at_depth && (size_t)n < nic->at_depth && gpu->chain[n] == nic->chain[n])
        n++;
    return n;
}

/**
 * Returns the names of the NICs that are nearest to a GPU. Marks these NICs in the array @p used.
 */
static const char *nearest(const devices *nics, const device *gpu, bool *used)
{
    char *names = dsgd_xstrdup("");
    int most = 2; /* largest number of common ancestors; a NIC with fewer than 2 belongs to another
                   * processor */
    for (size_t k = 0; k < nics->n; k++)
        most = nearness(gpu, &nics->v[k]) > most ? nearness(gpu, &nics->v[k]) : most;
    for (size_t k = 0; k < nics->n; k++)
        if (nearness(gpu, &nics->v[k]) == most) {
            used[k] = true;
            dsgd_append(&names, " %s", nics->v[k].name);
        }
    return *names == '\0' ? " none" : names;
}

static void find_nearest(const reading *r, const devices *gpus, const devices *nics)
{
    bool *const used = dsgd_keep(nics->n + 1, sizeof *used);
    const char *last = "";
    char *said = dsgd_xstrdup("");
    for (size_t g = 0; g < gpus->n; g++) {
        const char *const names = nearest(nics, &gpus->v[g], used);
        if (g > 0 && strcmp(last, names) != 0)
            dsgd_append(&said, ":%s; ", last);
        dsgd_append(&said, strcmp(last, names) != 0 ? "GPU %s" : " %s", gpus->v[g].name);
        last = names;
    }
    r->t->sharing = dsgd_xprintf("%s:%s", said, last);
    for (size_t k = 0; k < nics->n; k++)
        if (used[k]) {
            const dsgd_said speed = {nics->v[k].bytes_per_s, nics->v[k].line};
            r->t->nics = (dsgd_said){r->t->nics.value + 1, speed.line};
            if (speed.value > 0 &&
                (r->t->nic_bytes_per_s.line == 0 || speed.value < r->t->nic_bytes_per_s.value))
                r->t->nic_bytes_per_s = speed;
        }
}

/** Sets the bandwidths to the smallest bandwidths of all GPUs. Adds a warning if GPUs differ. */
static void compare_gpus(const reading *r, const devices *gpus)
{
    dsgd_nccl_topology *const t = r->t;
    const device *least = gpus->v, *most = gpus->v;
    size_t strange = 0;
    for (const device *g = gpus->v; g < gpus->v + gpus->n; g++) {
        least = g->bytes_per_s < least->bytes_per_s ? g : least;
        most = g->bytes_per_s > most->bytes_per_s ? g : most;
        if (gpus == &r->gpus && isfinite(g->pci_bytes_per_s) &&
            (t->pci_bytes_per_s.line == 0 || g->pci_bytes_per_s < t->pci_bytes_per_s.value))
            t->pci_bytes_per_s = (dsgd_said){g->pci_bytes_per_s, g->line};
    }
    if (least->links > 0)
        t->links_bytes_per_s = (dsgd_said){least->bytes_per_s, least->line};
    /* The GPUs of AMD's MI250X differ by design in their numbers of links. */
    if (least->links != most->links && r->gcn == 0)
        t->warnings = dsgd_xprintf("%sline %zu: GPU %s has %jd links, but GPU %s in line %zu has "
                                   "%jd. Check whether a link is down\n",
                                   t->warnings, least->line, least->name, least->links, most->name,
                                   most->line, most->links);
    for (size_t i = 0, g = 0; i < r->n_targets; i++, strange += g == gpus->n)
        for (g = 0; g < gpus->n; g++)
            if (gpus->v[g].bus != NULL && strcmp(gpus->v[g].bus, r->targets[i]) == 0)
                break;
    if (strange > 0)
        t->warnings = dsgd_xprintf("%sline %zu: GPU links lead to %zu GPUs that are not in the "
                                   "file. Check whether the job saw all GPUs of the node\n",
                                   t->warnings, gpus->v->line, strange);
}

static dsgd_status conclude(const char *file, reading *r, dsgd_error *error)
{
    const bool is_dump = r->gpus.n > 0;
    const devices *const gpus = is_dump ? &r->gpus : &r->gpu_slots;
    if (strcmp(r->root, "system") != 0)
        return dsgd_refuse(
            error,
            "%s:%zu: <%s> is %s. Use the file that NCCL writes with NCCL_TOPO_DUMP_FILE=topo.xml",
            file, r->around.line, r->root,
            *r->root == 't' ? "from hwloc, which lacks NCCL's view of NVLinks and NICs"
                            : "from NCCL_GRAPH_DUMP_FILE, not a topology");
    if (gpus->n == 0)
        return dsgd_refuse(error,
                           "%s:%zu: none of the %jd elements is a GPU (<gpu>, or "
                           "class=\"0x0302..\"). Use the file "
                           "that NCCL writes with NCCL_TOPO_DUMP_FILE=topo.xml",
                           file, r->lines_before + 1, r->n_elements);
    r->t->gpus = (dsgd_said){(double)gpus->n, gpus->v->line};
    r->t->hosts.value = r->n_hosts > 1 ? (double)r->n_hosts : 1;
    if (r->sm >= 60 && r->gcn == 0)
        r->t->generation = (dsgd_said){capability_of(r->sm)->generation, gpus->v->line};
    compare_gpus(r, gpus);
    find_nearest(r, gpus, r->nics.n > 0 ? &r->nics : &r->nic_slots);
    return DSGD_OK;
}

const char *dsgd_nccl_topology_find(const char *text)
{
    static const char *const roots[] = {"<system", "<topology", "<graphs"};
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        const char *const at = strstr(text, roots[i]);
        if (at != NULL && strchr(" >\r\n\t", at[strlen(roots[i])]) != NULL)
            return at;
    }
    return NULL;
}

dsgd_status dsgd_nccl_topology_read(const char *file, const char *text, dsgd_nccl_topology *t,
                                    dsgd_error *error)
{
    reading *const r = dsgd_keep(1, sizeof *r);
    const char *const begin = dsgd_nccl_topology_find(text);
    *t = (dsgd_nccl_topology){.warnings = ""};
    r->t = t;
    r->around.pci_bytes_per_s = INFINITY;
    for (const char *c = text; c < begin; c++)
        r->lines_before += *c == '\n';
    r->parser = XML_ParserCreate(NULL);
    if (r->parser == NULL)
        dsgd_no_memory();
    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, begin_element, end_element);
    const size_t n = strlen(begin);
    const bool whole = n <= INT32_MAX && XML_Parse(r->parser, begin, (int)n, 1) == XML_STATUS_OK;
    const enum XML_Error why = XML_GetErrorCode(r->parser);
    const size_t line = line_of(r);
    XML_ParserFree(r->parser);
    if (r->wrong == NULL && !whole && why != XML_ERROR_ABORTED)
        r->wrong = n > INT32_MAX ? "the file is larger than 2 GiB" : XML_ErrorString(why);
    if (r->wrong != NULL)
        return dsgd_fail(error, DSGD_EIO, "%s:%zu: not an XML topology of a node: %s", file, line,
                         r->wrong);
    return conclude(file, r, error);
}

/* --- matrix of nvidia-smi topo -m ------------------------------------------------------------- */

enum { MOST_COLUMNS = 256 };

/** Splits a line into at most MOST_COLUMNS words and returns the number of words. */
static size_t split(const char *line, const char **words)
{
    char *rest = dsgd_xprintf("%.*s", (int)strcspn(line, "\n"), line), *word = NULL;
    size_t n = 0;
    while (n < MOST_COLUMNS && (word = strsep(&rest, " \t\r")) != NULL)
        if (*word != '\0')
            words[n++] = word;
    return n;
}

/** Returns true if the line is the first row of a matrix. */
static bool is_first_row(const char *line)
{
    static const char blanks[] = " \t\r", name[] = "GPU0";
    line += strspn(line, blanks);
    if (strncmp(line, name, strlen(name)) != 0)
        return false;
    line += strlen(name);
    return line[strspn(line, blanks)] == 'X';
}

const char *dsgd_nccl_matrix_find(const char *text)
{
    for (const char *before = text, *line = text; *line != '\0';) {
        if (is_first_row(line) && strstr(before, "GPU0") < line)
            return before;
        before = line;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return NULL;
}

dsgd_status dsgd_nccl_matrix_read(const char *file, const char *text, dsgd_nccl_topology *t,
                                  dsgd_error *error)
{
    static const char *const levels[] = {"PIX", "PXB", "PHB", "NODE", "SYS", NULL};
    const char *heads[MOST_COLUMNS], *words[MOST_COLUMNS], *row = dsgd_nccl_matrix_find(text);
    bool used[MOST_COLUMNS] = {false};
    size_t gpus = 0, columns = 0, line = 1;
    int64_t least = INT64_MAX, most = 0;
    const size_t n_heads = split(row, heads);
    for (const char *c = text; c < row; c++)
        line += *c == '\n';
    while (columns < n_heads && strcmp(heads[columns], "CPU") != 0)
        /* The first name may follow an escape sequence, so strstr() searches for "GPU". */
        gpus += strstr(heads[columns++], "GPU") != NULL;
    *t = (dsgd_nccl_topology){.gpus = {(double)gpus, line}, .warnings = "", .sharing = ""};
    for (size_t g = 0; g < gpus; g++) {
        row += strcspn(row, "\n");
        row += *row == '\n';
        if (split(row, words) <= columns || strcmp(words[0], dsgd_xprintf("GPU%zu", g)) != 0)
            return dsgd_fail(error, DSGD_EIO, "%s:%zu: the row of GPU%zu is incomplete", file,
                             line + 1 + g, g);
        int nearest = INT_MAX;
        for (size_t k = 0; k < columns; k++) {
            const int64_t links =
                strncmp(words[1 + k], "NV", 2) == 0 ? strtoll(words[1 + k] + 2, NULL, 10) : 0;
            const int level = dsgd_find_word(levels, words[1 + k]);
            least = k < gpus && k != g && links < least ? links : least;
            most = k < gpus && links > most ? links : most;
            nearest = k >= gpus && level >= 0 && level < nearest ? level : nearest;
        }
        for (size_t k = gpus; k < columns; k++)
            used[k] = used[k] || dsgd_find_word(levels, words[1 + k]) == nearest;
    }
    for (size_t k = gpus; k < columns; k++)
        if (used[k]) {
            t->nics = (dsgd_said){t->nics.value + 1, line};
            t->sharing = dsgd_xprintf("%s%s ", t->sharing, heads[k]);
        }
    t->has_switch = gpus > 4 && least == most && most > 0;
    t->lacks = most == 0 ? "no NVLinks, and no speeds of other links"
                         : dsgd_xprintf("up to %jd NVLinks between GPUs, without speeds", most);
    return dsgd_nccl_matrix_find(row) == NULL
               ? DSGD_OK
               : dsgd_refuse(
                     error,
                     "%s:%zu: the file must describe one node, but this is the first of several",
                     file, line);
}
