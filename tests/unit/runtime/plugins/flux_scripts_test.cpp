// The scripts of Flux' Pods, run by bash in a folder in place of the Pod's file system, with a fake `flux`
// that records its calls.
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/base64.hpp"
#include "flux_objects.hpp"

using api::Json;
namespace fs = std::filesystem;

namespace {

// Every call is a line "flux" and a line "<word>" per argument. `flux start` runs its command, as the real
// one does. It fails as often as the file `failures` requires.
constexpr const char* stub_flux = R"sh(#!/bin/bash
{ echo flux; printf '<%s>\n' "$@"; } >>"$ROOT/calls"
case "$1" in
    R) echo '{"resources": true}' ;;
    run) shift; while [ "$#" -gt 0 ]; do case "$1" in -N | -n | -g) shift 2 ;; *) break ;; esac; done; exec "$@" ;;
    broker) exit "${BROKER_STATUS:-0}" ;;
    start)
        left=$(cat "$ROOT/failures" 2>/dev/null || echo 0)
        if [ "$left" -gt 0 ]; then echo $((left - 1)) >"$ROOT/failures"; exit 1; fi
        shift
        while [ "$1" = -o ]; do shift 2; done
        [ "$#" -eq 0 ] || exec "$@" ;;
esac
)sh";

constexpr const char* stub_sleep = "#!/bin/bash\necho \"sleep $1\" >>\"$ROOT/calls\"\n";

class Pod {
public:
    explicit Pod(const FluxObjects& objects) : objects_(objects) {
        std::string folder = (fs::temp_directory_path() / "signalbox-flux-XXXXXX").string();
        REQUIRE(mkdtemp(folder.data()));
        root_ = folder;
        for (const char* name : {"init.sh", "entrypoint.sh", "broker.toml"})
            write("etc/flux-config/" + std::string(name), objects.file(name));
        write("curve/curve.cert", api::from_base64(objects.secret["data"]["curve.cert"].as_string()).value());
        write("proc/net/route", "Iface\tDestination\neth0\t00000000\n");
        write("bin/flux", stub_flux, true);
        write("bin/sleep", stub_sleep, true);
        // The image of the view.
        write("opt/views/._view/abc/bin/flux-tool", "#!/bin/bash\n", true);
        write("opt/views/._view/abc/bin/python3.11", "#!/bin/bash\n", true);
        write("opt/views/._view/abc/lib/python3.11/site-packages/flux.py", "");
        write("opt/software/linux/flux.so", "library");
        // Spack has files and folders that are only to be read.
        write("opt/views/._view/abc/lib/perl5/strict.pm", "");
        write("opt/software/linux/perl5/strict.pm", "");
        for (const char* perl : {"opt/views/._view/abc/lib/perl5", "opt/software/linux/perl5"}) {
            const auto writing = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
            fs::permissions(root_ / perl / "strict.pm", writing, fs::perm_options::remove);
            fs::permissions(root_ / perl, writing, fs::perm_options::remove);
        }
    }
    Pod(const Pod&) = delete;
    Pod& operator=(const Pod&) = delete;
    ~Pod() {
        std::system(("chmod -R u+w " + root_.string()).c_str());
        fs::remove_all(root_);
    }

    // The text with only its paths replaced, which are all absolute.
    void write(const std::string& path, std::string text, bool executable = false) const {
        for (const char* const top :
             {"/mnt/flux", "/opt/", "/curve/", "/etc/flux-config", "/tmp/fluxout", "/proc/net/"})
            for (auto at = text.find(top); at != text.npos;
                 at = text.find(top, at + root_.string().size() + 1))
                // Not in the middle of a path.
                if (at == 0 || !std::isalnum(static_cast<unsigned char>(text[at - 1])))
                    text.insert(at, root_.string());
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text;
        if (executable) fs::permissions(root_ / path, fs::perms::owner_all);
    }

    std::string read(const std::string& path) const {
        std::ifstream file(root_ / path);
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    }

    fs::path path(const std::string& inside) const { return root_ / inside; }

    int init() const {
        return run("lead", without_capabilities() + "bash " + (root_ / "etc/flux-config/init.sh").string());
    }

    // Returns the exit status of the node container's command, on the host of that name.
    int enter(const std::string& host, const std::string& environment = {}) const {
        std::string command = environment + " " + without_capabilities();
        for (const Json& word : objects_.node()["command"].items()) {
            std::string text(word.as_string());
            if (text.starts_with("/etc/")) text = root_.string() + text;
            command += " '";
            for (const char c : text) command += c == '\'' ? std::string("'\\''") : std::string(1, c);
            command += "'";
        }
        return run(host, command);
    }

    // Returns "start -o x run -N 1": the words of each call, a line per call.
    std::string calls() const {
        std::string text = read("calls");
        for (auto at = text.find(root_.string()); at != text.npos; at = text.find(root_.string()))
            text.erase(at, root_.string().size());
        return text;
    }
    void forget_calls() const { fs::remove(root_ / "calls"); }

private:
    // For root. No other user has capabilities.
    static std::string without_capabilities() {
        return geteuid() == 0 ? "setpriv --bounding-set=-all --inh-caps=-all --no-new-privs " : "";
    }

    int run(const std::string& host, const std::string& command) const {
        const std::string line = "cd " + root_.string() + " && ROOT=" + root_.string() + " HOSTNAME=" + host +
                                 " PATH=" + (root_ / "bin").string() + ":/usr/bin:/bin " + command + " >" +
                                 (root_ / "output").string() + " 2>&1";
        return WEXITSTATUS(std::system(line.c_str()));
    }

    const FluxObjects& objects_;
    fs::path root_ = {};
};

std::string broker_options() {
    return "<-o>\n<--config-path=/mnt/flux/config/etc/flux/config>\n"
           "<-o>\n<-Scron.directory=/mnt/flux/config/etc/flux/system/cron.d>\n"
           "<-o>\n<-Stbon.fanout=256>\n"
           "<-o>\n<-Srundir=/mnt/flux/config/run/flux>\n"
           "<-o>\n<-Slocal-uri=local:///mnt/flux/config/run/flux/local>\n"
           "<-o>\n<-Sstatedir=/mnt/flux/config/var/lib/flux>\n"
           "<-o>\n<-Slog-stderr-level=0>\n"
           "<-o>\n<-Slog-stderr-mode=local>\n";
}

FluxObjects objects_of(const char* trainer) { return build_flux({{"spec.trainer", trainer}}, {}).value(); }

}  // namespace

TEST_CASE("the installer copies Flux and its configuration to the volume, also a second time", "[flux]") {
    const FluxObjects objects = objects_of("{numNodes: 3}");
    const Pod pod(objects);
    for (const char* round : {"first", "second"}) {
        INFO(round << ": " << pod.read("output"));
        REQUIRE(pod.init() == 0);
        CHECK(pod.read("mnt/flux/config/etc/flux/system/hostlist") == "job-node-0-[0-2]\n");
        CHECK(pod.read("mnt/flux/config/etc/flux/config/broker.toml") ==
              pod.read("etc/flux-config/broker.toml"));
        CHECK(fs::exists(pod.path("mnt/flux/view/lib/python3.11/site-packages/flux.py")));
        CHECK(pod.read("mnt/flux/software/linux/flux.so") == "library");
        CHECK(fs::exists(pod.path("mnt/flux/software/linux/perl5/strict.pm")));
        for (const char* folder : {"etc/flux/system/cron.d", "etc/curve", "var/lib/flux", "run/flux"})
            CHECK(fs::is_directory(pod.path("mnt/flux/config/" + std::string(folder))));
        CHECK(fs::exists(pod.path("mnt/flux/flux-operator-done.txt")));
    }
}

TEST_CASE("Flux uses IPv6 in Pods without IPv4", "[flux]") {
    const FluxObjects objects = objects_of("{}");
    const Pod pod(objects);
    const auto written = [&pod] {
        REQUIRE(pod.init() == 0);
        return pod.read("mnt/flux/config/etc/flux/config/broker.toml");
    };
    CHECK(written().find("enable_ipv6") == std::string::npos);
    for (const char* table : {"Iface\tDestination\n", ""}) {
        pod.write("proc/net/route", table);
        CHECK(written().find("[bootstrap]\nenable_ipv6 = true\ncurve_cert") != std::string::npos);
    }
    fs::remove(pod.path("proc/net/route"));
    CHECK(written().find("enable_ipv6 = true") != std::string::npos);
}

TEST_CASE("the installer fails with a message if its image has no Flux", "[flux]") {
    const FluxObjects objects = objects_of("{}");
    const Pod pod(objects);
    fs::remove_all(pod.path("opt/views"));
    CHECK(pod.init() == 1);
    CHECK(pod.read("output").find("exactly one directory in ") != std::string::npos);
}

TEST_CASE("the first node runs the program with unchanged arguments", "[flux]") {
    const FluxObjects objects = objects_of(
        R"({numNodes: 2, numProcPerNode: 3, command: [printf, "<%s>", "a  b", "it's \"q\"", "$HOME `id`", "line\nbreak", "*", ""]})");
    const Pod pod(objects);
    REQUIRE(pod.init() == 0);
    const int status = pod.enter("job-node-0-0");
    INFO(pod.read("output"));
    CHECK(status == 0);
    CHECK(pod.read("output") == "<a  b><it's \"q\"><$HOME `id`><line\nbreak><*><>");
    const std::string program =
        "<printf>\n<<%s>>\n<a  b>\n<it's \"q\">\n<$HOME `id`>\n<line\nbreak>\n<*>\n<>\n";
    CHECK(pod.calls() ==
          "flux\n<R>\n<encode>\n<--hosts=job-node-0-[0-1]>\n<--cores=0-2>\n"
          "flux\n<start>\n" +
              broker_options() + "<flux>\n<run>\n<-N>\n<2>\n<-n>\n<6>\n" + program +
              "flux\n<run>\n<-N>\n<2>\n<-n>\n<6>\n" + program);
    CHECK(pod.read("mnt/flux/config/etc/flux/system/R") == "{\"resources\": true}\n");
    CHECK(fs::exists(pod.path("mnt/flux/flux-operator-complete.txt")));
}

TEST_CASE("the status of the program is the container's", "[flux]") {
    const FluxObjects objects = objects_of("{command: [bash, -c, exit 7]}");
    const Pod pod(objects);
    REQUIRE(pod.init() == 0);
    CHECK(pod.enter("job-node-0-0") == 7);
    CHECK(fs::exists(pod.path("mnt/flux/flux-operator-complete.txt")));
    CHECK(pod.enter("job-node-0-0") == 7);  // a container that was restarted
}

TEST_CASE("numbers of nodes, processes and GPUs reach Flux", "[flux]") {
    struct Case {
        const char* trainer;
        const char* resources;
        const char* run;
    };
    const Case cases[] = {
        {"{command: ['true']}", "<--hosts=job-node-0-[0]>\n<--cores=0-0>\n",
         "<run>\n<-N>\n<1>\n<-n>\n<1>\n<true>\n"},
        {"{command: ['true'], numNodes: 4, numProcPerNode: 2}", "<--hosts=job-node-0-[0-3]>\n<--cores=0-1>\n",
         "<run>\n<-N>\n<4>\n<-n>\n<8>\n<true>\n"},
        {"{command: ['true'], numProcPerNode: 2, resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}",
         "<--hosts=job-node-0-[0]>\n<--cores=0-1>\n<--gpu=0-7>\n",
         "<run>\n<-N>\n<1>\n<-n>\n<2>\n<-g>\n<4>\n<true>\n"},
        {"{command: ['true'], numNodes: 2, resourcesPerNode: {limits: {nvidia.com/gpu: 1}}}",
         "<--hosts=job-node-0-[0-1]>\n<--cores=0-0>\n<--gpu=0-0>\n",
         "<run>\n<-N>\n<2>\n<-n>\n<2>\n<-g>\n<1>\n<true>\n"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.trainer) {
            const FluxObjects objects = objects_of(c.trainer);
            const Pod pod(objects);
            REQUIRE(pod.init() == 0);
            REQUIRE(pod.enter("job-node-0-0") == 0);
            CHECK(pod.calls().find("<encode>\n" + std::string(c.resources) + "flux\n") != std::string::npos);
            CHECK(pod.calls().ends_with("flux\n" + std::string(c.run)));
        }
    }
}

TEST_CASE("other nodes start their broker again until it ends well", "[flux]") {
    const FluxObjects objects = objects_of("{numNodes: 2, command: [bash, -c, exit 7]}");
    const Pod pod(objects);
    REQUIRE(pod.init() == 0);
    pod.write("failures", "2");
    CHECK(pod.enter("job-node-0-1") == 0);
    const std::string start = "flux\n<start>\n" + broker_options();
    CHECK(pod.calls() == "flux\n<R>\n<encode>\n<--hosts=job-node-0-[0-1]>\n<--cores=0-0>\n" + start +
                             "sleep 15\n" + start + "sleep 15\n" + start);
}

TEST_CASE("without a program the first node runs a broker that users can attach to", "[flux]") {
    const FluxObjects objects = objects_of("{}");
    const Pod pod(objects);
    REQUIRE(pod.init() == 0);
    CHECK(pod.enter("job-node-0-0", "BROKER_STATUS=3") == 3);
    std::string options = broker_options();
    for (auto at = options.find("<-o>\n"); at != options.npos; at = options.find("<-o>\n"))
        options.erase(at, 5);
    CHECK(pod.calls().ends_with("flux\n<broker>\n" + options));
}

TEST_CASE("a node prepares the view, the certificate and helpers for users", "[flux]") {
    const FluxObjects objects = objects_of("{command: [bash, -c, 'env >environment']}");
    const Pod pod(objects);
    REQUIRE(pod.init() == 0);
    fs::permissions(pod.path("curve/curve.cert"), fs::perms::owner_read | fs::perms::group_read);
    for (const char* round : {"first", "second"}) {
        INFO(round);
        REQUIRE(pod.enter("job-node-0-0", "PYTHONPATH=/mine") == 0);
        const fs::path certificate = pod.path("mnt/flux/config/etc/curve/curve.cert");
        CHECK(fs::status(certificate).permissions() == fs::perms::owner_read);
        CHECK(pod.read("mnt/flux/config/etc/curve/curve.cert") == pod.read("curve/curve.cert"));
    }
    const std::string environment = pod.read("environment");
    const std::string root = pod.path("").string();
    CHECK(environment.find("PYTHONPATH=/mine:" + root + "mnt/flux/view/lib/python3.11/site-packages\n") !=
          std::string::npos);
    CHECK(environment.find("FLUX_RC_EXTRA=" + root + "mnt/flux/view/etc/flux/rc1.d\n") != std::string::npos);
    CHECK(environment.find("FLUX_OUTPUT_DIR=" + root + "tmp/fluxout\n") != std::string::npos);
    CHECK(environment.find(":/usr/bin:/bin:" + root + "mnt/flux/view/bin\n") != std::string::npos);
    CHECK(fs::read_symlink(pod.path("mnt/flux/view/bin/python3")) == "python3.11");
    CHECK(pod.read("mnt/flux/load-fluxion.sh") ==
          "flux module remove sched-simple\nflux module load sched-fluxion-resource\n"
          "flux module load sched-fluxion-qmanager\n");
    CHECK(pod.read("mnt/flux/flux-view.sh").find("export PATH=") == 0);
}
