// Part of dsgd.js: one command after the other in one instance. callMain() takes stack for the words of each and leaves them there, and
// what ends by exit() all that it stood on: without this, thousands of commands would fill it.
Module['command'] = words => {
    const top = stackSave();
    let status = 0;
    try { status = callMain(words); } catch (e) { if (e.name !== 'ExitStatus') throw e; status = e.status; } finally { stackRestore(top); }
    const ended = Module['_dsgd_ended'](); // the status where fibers have run, which lose that of main()
    return ended < 0 ? status : ended;
};
