// The warning about programs that a shell keeps from hearing of a stop.
#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

const char* const container =
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0]";

Json job_with(std::string_view script) {
    Json job = train_job();
    job["spec"]["trainer"]["command"] = Json::array({"sh", "-c", script});
    return job;
}

// Returns "rule: text" of every warning.
std::string warnings(const Json& job, const Json& runtime, const Json& before = {}) {
    std::string lines;
    const auto findings = runtime::validate_train_job(
        {.object = job, .old_object = before, .runtime = &runtime, .gates = runtime::Gates::all()});
    CHECK(findings.errors.empty());
    for (const api::Warning& warning : findings.warnings) {
        CHECK(warning.text.size() <= 120);
        lines += std::string(warning.rule.name()) + ": " + warning.text + "\n";
    }
    return lines;
}

std::string warning_of(const std::string& shell) {
    return "shell_without_exec: " + shell +
           " does not pass SIGTERM on to its program: write \"exec\" before the last command, or it is "
           "killed "
           "without warning\n";
}

}  // namespace

TEST_CASE("a program whose shell passes no signal on is warned of", "[admission]") {
    for (const char* script : {
             "python train.py",
             "cd /workspace && python train.py",
             "python train.py; echo done",
             "python train.py | tee log",
             "python train.py >&2 2>/dev/null",
             "python train.py || exit 1",
             "python train.py; echo",
             "python train.py; exec 2>&1",
             "OMP_NUM_THREADS=1 python train.py",
             "set -e\npython train.py\n# exec python train.py\n",
             "exec >log 2>&1; python train.py",
             "exec python train.py | tee log",
             "python train.py & wait",
             "exec python train.py & wait",
             "{ exec python train.py; } & wait",
             "(cd /src && exec python train.py)",
             "(exec python train.py) || exit 1",
             "trap 'rm -rf /tmp/x' EXIT; python train.py",
             "trap 'echo TERM' INT EXIT; python train.py",
             "trap - INT TERM; python train.py",
             "trap '' INT TERM; python train.py",
             "trap -- 'kill $child' INT 2>/dev/null; python train.py & child=$!; wait",
             "(trap 'kill $child' TERM; python train.py & child=$!; wait)",
             "echo trap x TERM; python train.py",
             "echo \"exec python train.py\"; python train.py",
             "python -c 'exec x'",
             "torchrun --nproc-per-node \"$(nproc)\" train.py",
             "if test -f a; then exec python a.py; fi; python b.py",
             "for i in 1 2; do python $i.py; done",
             "while true; do { python train.py; }; done",
             "case $JOB_COMPLETION_INDEX in 0) exec python a.py ;; *) python b.py ;; esac",
             "train() { python train.py; }; train",
             "cat <<END\nexec python\nEND\npython train.py",
         }) {
        CAPTURE(script);
        CHECK(warnings(job_with(script), plain_runtime()) == warning_of("sh"));
    }
}

TEST_CASE("no warning is about a script that hands over, sets a trap, starts nothing or cannot be read",
          "[admission]") {
    for (const char* script : {
             "",
             "exec python train.py",
             "cd /workspace && exec python train.py\n",
             "OMP_NUM_THREADS=1 exec python train.py >log 2>&1 # go",
             "exec torchrun --nproc-per-node \"$(nproc)\" train.py",
             "exec \\\n    python train.py",
             "if test -f a; then exec python a.py; else exec python b.py; fi",
             "case $JOB_COMPLETION_INDEX in\n    0) exec python a.py ;;\n    *) exec python b.py ;;\nesac\n",
             "while ! test -f ready; do true; done; exec python train.py",
             "test -n \"${NAME:-`hostname`}\" && exec python train.py",
             "cat >x.py <<'END'\nprint('don\\'t (')\nEND\nexec python x.py",
             "cat <<-END\n\t it's (\n\tEND\nexec python x.py",
             "exec python - <<END\nimport a\nEND\n",
             "trap 'kill $child' TERM; python train.py & child=$!; wait",
             "trap stop INT SIGTERM; python train.py & child=$!; wait",
             "trap -- \\\n    stop \\\n    15; python train.py & child=$!; wait",
             "pip install -r r.txt && exec python train.py || exit 1",
             "pip install x\nexec python x.py\nexit 1",
             "pip install x; exec python x.py || { echo there is no python >&2; exit 1; }",
             "(pip install x); exec python x.py",
             "pip install x && { cd /src; exec python x.py; }",
             "prepare() { pip install x; }\nprepare\nexec python x.py",
             "echo hello from $(hostname)",
             "echo there is no file; exit 3",
             "python prepare.py; . ./train.sh",
             "python prepare.py; eval \"$TRAIN\"",
             "python 'train.py",
             "python $(cat",
         }) {
        CAPTURE(script);
        CHECK(warnings(job_with(script), plain_runtime()).empty());
    }
}

TEST_CASE("the words count that will run: the TrainJob's, else the runtime's", "[admission]") {
    struct Case {
        const char* name;
        const char* trainer;
        const char* of_runtime;
        const char* shell;  // that the warning names; empty: none
    };
    const Case cases[] = {
        {"dash", "{command: [dash, -c, python a]}", "{name: node, image: i}", "dash"},
        {"a path", "{command: [/usr/bin/dash, -c, python a]}", "{name: node, image: i}", "dash"},
        {"several options in one word", "{command: [/bin/sh, -ec, python a]}", "{name: node, image: i}",
         "sh"},
        {"options before", "{command: [sh, -x, -o, pipefail, -c, python a]}", "{name: node, image: i}", "sh"},
        {"options after", "{command: [sh, -c, -e, python a]}", "{name: node, image: i}", "sh"},
        {"the end of the options", "{command: [sh, -c, \"--\", python a]}", "{name: node, image: i}", "sh"},
        {"parameters of the script", "{command: [sh, -c, exec \"$@\", exec, python]}",
         "{name: node, image: i}", ""},
        {"bash puts one command in its place", "{command: [bash, -c, python a]}", "{name: node, image: i}",
         ""},
        {"a file with a script", "{command: [sh, train.sh]}", "{name: node, image: i}", ""},
        {"nothing to run", "{command: [sh, -c]}", "{name: node, image: i}", ""},
        {"no shell", "{command: [python, -c, sh]}", "{name: node, image: i}", ""},
        {"another program's name ends so", "{command: [/opt/fish, -c, python a]}", "{name: node, image: i}",
         ""},
        {"the script is in the args", "{command: [sh, -c], args: [python a]}", "{name: node, image: i}",
         "sh"},
        {"args for a program of the image", "{args: [sh, -c, python a]}", "{name: node, image: i}", ""},
        {"of the runtime", "null", "{name: node, image: i, command: [sh, -c, python a]}", "sh"},
        {"args for the runtime's command", "{args: [python a]}",
         "{name: node, image: i, command: [sh, -c], args: [exec python b]}", "sh"},
        {"instead of the runtime's", "{command: [python, a]}",
         "{name: node, image: i, command: [sh, -c, python a]}", ""},
        {"the image's instead of the runtime's", "{command: []}",
         "{name: node, image: i, command: [sh, -c, python a]}", ""},
        {"a hook may tell the program", "{command: [sh, -c, python a]}",
         "{name: node, image: i, lifecycle: {preStop: {exec: {command: [touch, /stop]}}}}", ""},
        {"a hook at its start does not", "{command: [sh, -c, python a]}",
         "{name: node, image: i, lifecycle: {postStart: {exec: {command: [touch, /start]}}}}", "sh"},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            CHECK(warnings(changed(train_job(), {{"spec.trainer", c.trainer}}),
                           changed(plain_runtime(), {{container, c.of_runtime}})) ==
                  (*c.shell == '\0' ? "" : warning_of(c.shell)));
        }
}

TEST_CASE("only the container that runs the program is looked at, once, and by new TrainJobs",
          "[admission]") {
    const char* const shell = "{name: node, image: i, command: [sh, -c, python a]}";
    const char* const beside =
        "{name: side, template: {spec: {template: {spec: {containers: [{name: node, image: i, command: [sh, "
        "-c, "
        "serve]}]}}}}}";
    const Json with_others =
        changed(plain_runtime(), {{"spec.template.spec.replicatedJobs[1]", beside},
                                  {"spec.template.spec.replicatedJobs[0].template.spec.template.spec."
                                   "initContainers",
                                   "[{name: first, image: i, command: [sh, -c, fetch]}]"}});
    CHECK(warnings(train_job(), with_others).empty());
    CHECK(warnings(train_job(), changed(with_others, {{container, shell}})) == warning_of("sh"));
    const Json of = changed(plain_runtime(), {{container, shell}});
    const Json before = changed(train_job(), {{"spec.suspend", "true"}});
    CHECK(warnings(changed(before, {{"spec.runtimePatches", "[{manager: a.io/b}]"}}), of, before).empty());
    const Json broken =
        changed(train_job(),
                {{"status.conditions", "[{type: Created, status: \"False\", reason: JobsBuildFailed}]"}});
    CHECK(warnings(changed(broken, {{"spec.trainer.numNodes", "2"}}), of, broken) == warning_of("sh"));
}

TEST_CASE("a plugin that starts the program itself decides what it hears of", "[admission]") {
    CHECK(warnings(job_with("python train.py"), runtime_with("flux")).empty());
    CHECK(warnings(job_with("python train.py"), runtime_with("jax")) == warning_of("sh"));
}

TEST_CASE("a script of any nesting is read in time", "[admission]") {
    std::string nested, quoted, commands;
    for (int i = 0; i < 100'000; ++i) {
        nested += "$(";
        quoted += "\"$(";
        commands += "a;";
    }
    CHECK(warnings(job_with(nested), plain_runtime()).empty());
    CHECK(warnings(job_with(quoted), plain_runtime()).empty());
    CHECK(warnings(job_with(commands), plain_runtime()) == warning_of("sh"));
    CHECK(warnings(job_with(commands + "exec a"), plain_runtime()).empty());
}
