// Checks that the time of a review or a build of a TrainJob is proportional to its size, for each list and
// map of the schemas: with twice as many items it may take 2.5 times as long, not four times.
//
//   scaling [SECONDS]      each list and map alone, then many together, for SECONDS of CPU (default 4)
//   scaling MEMBER...      these together; prints the time of each step
//   scaling count ...      one step, for valgrind (see count_instructions)
//
// Lists and maps are longer than the schemas admit: the webhook may get requests from other clients than an
// API server, and snapshots may be forged. Time is CPU of this thread, which a busy machine and its caches
// change. So time only selects suspicious steps, and the number of their instructions decides.
#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>

#include "api/yaml.hpp"
#include "instructions.hpp"
#include "work.hpp"

namespace {

constexpr double most_growth = 2.5;
// Shorter steps cannot be measured; with ten times as many items they can.
constexpr double least_seconds = 0.003;
// Items of all growing lists and maps together, and the minimum of each.
constexpr std::size_t most_items = 3000;
constexpr std::size_t least_items = 250;
constexpr std::size_t grown_together = 8;  // lists and maps that grow together
constexpr const char* roles[] = {"trainer", "dataset-initializer", "model-initializer"};

struct Growing {
    std::string step = {};
    double before = 0;
    double after = 0;

    bool is_steep() const { return after > least_seconds && after > most_growth * before; }
};

std::vector<Growing> compare(const std::vector<Step>& before, const std::vector<Step>& after) {
    std::vector<Growing> growing;
    for (const Step& step : after) {
        const auto same = std::find_if(before.begin(), before.end(),
                                       [&](const Step& each) { return each.name == step.name; });
        // A step that fails early with more items is not slower.
        if (same != before.end()) growing.push_back({step.name, same->seconds, step.seconds});
    }
    return growing;
}

std::vector<Growing> steep_of(const std::vector<Growing>& growing) {
    std::vector<Growing> steep;
    for (const Growing& each : growing)
        if (each.is_steep()) steep.push_back(each);
    return steep;
}

std::string words_for(const Subject& subject) {
    std::string text;
    for (const std::string& member : subject.members) text += (text.empty() ? "" : ", ") + member;
    text += " (keys: " + std::string(to_string(subject.order)) + "; " + subject.framework;
    if (!subject.role.empty()) text += ", all jobs " + subject.role;
    if (subject.long_names) text += ", long names";
    return text + (subject.gang.empty() ? ")" : ", " + subject.gang + ")");
}

constexpr std::string_view long_names_word = "long-names";

std::vector<std::string> arguments_for(const Subject& subject, const std::string& step) {
    std::vector<std::string> arguments = {step,
                                          std::string(to_string(subject.order)),
                                          subject.framework,
                                          subject.gang,
                                          subject.role,
                                          std::string(subject.long_names ? long_names_word : "short-names")};
    arguments.insert(arguments.end(), subject.members.begin(), subject.members.end());
    return arguments;
}

class Guard {
public:
    bool check(const Subject& subject) {
        ++subjects_;
        const std::size_t size = size_for(subject);
        const auto small = work(subject, size);
        for (const Step& step : small)
            if (step.name == "the build" && step.passed) built_.insert(subject.members);
        const auto steep = steep_of(compare(small, work(subject, 2 * size)));
        return steep.empty() || confirm(subject, steep).empty();
    }
    // Returns the steps that stay steep for larger lists, by time and then by instructions.
    std::vector<Growing> confirm(const Subject& subject, std::vector<Growing> steep) {
        std::size_t size = size_for(subject);
        for (int time = 0; time < 2 && !steep.empty(); ++time) {
            size *= 2;
            std::set<std::string> only;
            for (const Growing& each : steep) only.insert(each.step);
            steep = steep_of(compare(quickest(subject, size, only), quickest(subject, 2 * size, only)));
        }
        std::erase_if(steep,
                      [&](const Growing& each) { return count(subject, each.step).growth() <= most_growth; });
        return steep;
    }
    Counts count(const Subject& subject, const std::string& step) {
        ++counted_;
        return count_instructions(arguments_for(subject, step), size_for(subject));
    }
    std::vector<Step> quickest(const Subject& subject, std::size_t size,
                               const std::set<std::string>& only = {}) {
        auto best = work(subject, size, only);
        for (int time = 1; time < 3; ++time) {
            const auto steps = work(subject, size, only);
            for (std::size_t i = 0; i < best.size(); ++i)
                best[i].seconds = std::min(best[i].seconds, steps[i].seconds);
        }
        return best;
    }
    std::vector<Step> work(const Subject& subject, std::size_t size,
                           const std::set<std::string>& only = {}) const {
        return work_through(schemas, subject, size, only);
    }
    std::size_t size_for(const Subject& subject) const {
        return std::max(least_items, most_items / std::max<std::size_t>(1, places(schemas, subject)));
    }

    // Reports a steep step, if it still is one.
    bool report(Subject subject) {
        // Removes the members that have no effect on it.
        const std::set<std::string> members = subject.members;
        for (const std::string& member : members) {
            Subject fewer = subject;
            fewer.members.erase(member);
            if (!fewer.members.empty() && !check(fewer)) subject = std::move(fewer);
        }
        bool is_steep = false;
        for (const Step& step : work(subject, least_items)) {
            const Counts counts = count(subject, step.name);
            if (counts.growth() <= most_growth) continue;
            is_steep = true;
            std::printf(
                "%s: %s needs %.1f times as many instructions for %zu items as for %zu: %llu after %llu\n",
                words_for(subject).c_str(), step.name.c_str(), counts.growth(), 2 * size_for(subject),
                size_for(subject), static_cast<unsigned long long>(counts.after),
                static_cast<unsigned long long>(counts.before));
        }
        std::fflush(stdout);
        return is_steep;
    }

    /// Returns whether something was built with a long list or map of this name alone.
    bool has_built(const std::string& member) const { return built_.contains({member}); }
    int subjects() const { return subjects_; }
    int counted() const { return counted_; }

    const Schemas schemas = read_schemas();

private:
    std::set<std::set<std::string>> built_ = {};
    int subjects_ = 0;
    int counted_ = 0;  // steps whose instructions were counted
};

// `names`: growable() or keyed().
std::set<std::string> all_of(const Schemas& schemas, std::set<std::string> (*names)(const api::Json&)) {
    auto members = names(schemas.job);
    members.merge(names(schemas.runtime));
    for (const api::Json& schema : schemas.live) members.merge(names(schema));
    return members;
}

// A map in a manifest, as YAML. (Reviews are JSON.)
std::string yaml_map(std::size_t size, Order order) {
    api::Json::Object::Members members;
    for (std::size_t i = 0; i < size; ++i) members.push_back({"key-" + std::to_string(size + i), 0});
    // {"key-1":0,"key-2":0} -> one line for each
    std::string text;
    for (const char c : text_of(api::Json::Object(std::move(members)), order))
        text += c == ',' ? "\n" : c == ':' ? ": " : c == '{' || c == '}' ? "" : std::string(1, c);
    return text;
}

void read_yaml_map(std::size_t size, Order order) {
    const std::string text = yaml_map(size, order);
    const auto read = counted_by_callgrind([&] { return api::parse_yaml(text); });
    if (!read || read->members().size() != size) std::abort();
}

constexpr const char* yaml_step = "reading YAML";

bool check_yaml() {
    constexpr std::size_t size = 1000;
    for (const Order order : {Order::same, Order::interleaved}) {
        const Counts counts = count_instructions({yaml_step, std::string(to_string(order))}, size);
        if (counts.growth() <= most_growth) continue;
        std::printf(
            "%zu keys of a map need %.1f times as many instructions as %zu to be read as YAML (keys: %s)\n",
            2 * size, counts.growth(), size, std::string(to_string(order)).c_str());
        return false;
    }
    return true;
}

// Takes frameworks and gangs in turns, unless a framework has such a list itself.
Subject subject_of(const Guard& guard, std::set<std::string> members, Order order, std::size_t turn) {
    constexpr std::string_view gangs[] = {"", "coscheduling", "volcano"};
    const auto all = frameworks(guard.schemas);
    std::string framework = all[turn % all.size()];
    for (const std::string& other : all)
        if (Growth(members, 1, order)
                .reaches(guard.schemas.runtime["properties"]["mlPolicy"]["properties"][other], other))
            framework = other;
    return {std::move(members), order, framework, std::string(gangs[turn % std::size(gangs)])};
}

bool check_each_alone(Guard& guard, const std::set<std::string>& members) {
    bool good = true;
    std::size_t turn = 0;
    for (const std::string& member : members)
        for (const Order order : orders) {
            const Subject subject = subject_of(guard, {member}, order, turn++);
            if (guard.check(subject) || !guard.report(subject)) continue;
            good = false;
            break;
        }
    return good;
}

// A list that is denied alone hides others in a group. It may be denied only because it names missing
// objects.
bool check_refused_ones(Guard& guard, const std::set<std::string>& members,
                        const std::set<std::string>& named) {
    bool good = true;
    std::size_t turn = 0;
    for (const std::string& member : members) {
        if (guard.has_built(member)) continue;
        for (const std::string& other : named) {
            const Subject subject =
                subject_of(guard, {member, other}, orders[turn % std::size(orders)], turn);
            ++turn;
            if (!guard.check(subject) && guard.report(subject)) good = false;
        }
    }
    return good;
}

// One key repeatedly, with the members that make each item of a TrainJob long.
bool check_repeated_keys(Guard& guard, const std::set<std::string>& named) {
    bool good = true;
    std::size_t turn = 0;
    for (const std::string& member : named) {
        const Subject subject =
            subject_of(guard, {member, "annotations", "env", "tolerations"}, Order::again, turn++);
        if (!guard.check(subject) && guard.report(subject)) good = false;
    }
    return good;
}

// Jobs of one role, of which a runtime has one and a forged snapshot may have thousands. What a TrainJob says
// of that step must not be done for each of them.
bool check_roles(Guard& guard) {
    const api::Json& of_job = guard.schemas.job["properties"];
    auto members = growable(of_job["trainer"]);
    members.merge(growable(of_job["initializer"]));
    bool good = true;
    std::size_t turn = 0;
    for (const std::string& member : members)
        for (const char* role : roles) {
            Subject subject = subject_of(guard, {member, "replicatedJobs"}, Order::same, turn++);
            subject.role = role;
            if (!guard.check(subject) && guard.report(subject)) good = false;
        }
    return good;
}

// A long name, which an error may say for each item below it.
bool check_long_names(Guard& guard, const std::set<std::string>& members) {
    bool good = true;
    std::size_t turn = 0;
    for (const std::string& member : members) {
        Subject subject = subject_of(guard, {member}, Order::same, turn++);
        subject.long_names = true;
        if (!guard.check(subject) && guard.report(subject)) good = false;
    }
    return good;
}

// Random groups, so that most pairs occur; the same ones in every run. Half of them have only lists in which
// names are looked up.
bool check_many_together(Guard& guard, const std::set<std::string>& members,
                         const std::set<std::string>& named, double seconds) {
    std::vector<std::string> any, by_name;
    for (const std::string& member : members) {
        if (!guard.has_built(member)) continue;
        any.push_back(member);
        if (named.contains(member)) by_name.push_back(member);
    }
    std::mt19937 random(1);
    const double began = cpu_seconds();
    for (std::size_t turn = 0; cpu_seconds() - began < seconds; ++turn) {
        auto& from = turn % 2 == 0 ? any : by_name;
        std::shuffle(from.begin(), from.end(), random);
        const auto some = from.begin() + static_cast<std::ptrdiff_t>(std::min(grown_together, from.size()));
        const Subject subject =
            subject_of(guard, {from.begin(), some}, orders[random() % std::size(orders)], random());
        if (!guard.check(subject) && guard.report(subject)) return false;
    }
    return true;
}

// The counterpart of arguments_for(), in the child.
void work_once(const std::vector<std::string>& arguments) {
    const std::size_t size = std::stoul(arguments.back());
    if (arguments.front() == yaml_step) return read_yaml_map(size, order_of(arguments[1]));
    const Subject subject = {.members = {arguments.begin() + 6, arguments.end() - 1},
                             .order = order_of(arguments[1]),
                             .framework = arguments[2],
                             .gang = arguments[3],
                             .role = arguments[4],
                             .long_names = arguments[5] == long_names_word};
    work_through(read_schemas(), subject, size, {arguments.front()});
}

void show(Guard& guard, const std::set<std::string>& members) {
    for (const std::string& policy : frameworks(guard.schemas))
        for (const std::string gang : {"", "coscheduling", "volcano"})
            for (const Order order : orders) {
                const Subject subject = {members, order, policy, gang};
                const std::size_t size = guard.size_for(subject);
                const auto small = guard.quickest(subject, size), large = guard.quickest(subject, 2 * size);
                std::printf("%s, %zu and %zu items\n", words_for(subject).c_str(), size, 2 * size);
                for (const Step& step : large)
                    for (const Step& before : small)
                        if (before.name == step.name)
                            std::printf("  %-40s %8.2f ms %8.2f ms  %4.1f %s\n", step.name.c_str(),
                                        before.seconds * 1e3, step.seconds * 1e3,
                                        step.seconds / before.seconds, step.passed ? "" : "refused");
            }
}

}  // namespace

int main(int count, char** arguments) {
    // Memory that is repeatedly mapped and unmapped costs more, the larger it is.
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    if (count > 3 && std::string_view(arguments[1]) == "count") {
        work_once({arguments + 2, arguments + count});
        return 0;
    }
    Guard guard;
    double seconds = 4;
    if (count > 1) {
        const std::string_view first = arguments[1];
        const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), seconds);
        if (error != std::errc()) {
            show(guard, {arguments + 1, arguments + count});
            return 0;
        }
    }
    const auto members = all_of(guard.schemas, growable), named = all_of(guard.schemas, keyed);
    bool good = check_yaml();
    good = check_each_alone(guard, members) && good;
    good = check_repeated_keys(guard, named) && good;
    const double after_each = cpu_seconds();
    good = check_refused_ones(guard, members, named) && good;
    const double after_refused = cpu_seconds();
    good = check_roles(guard) && good;
    good = check_long_names(guard, members) && good;
    const double after_roles = cpu_seconds();
    good = check_many_together(guard, members, named, seconds) && good;
    std::printf(
        "%zu lists and maps, %d objects; %.1f s of CPU alone, %.1f for those that are refused alone, %.1f "
        "with roles and long names, %.1f together; instructions of %d steps counted\n",
        members.size(), guard.subjects(), after_each, after_refused - after_each, after_roles - after_refused,
        cpu_seconds() - after_roles, guard.counted());
    return good ? 0 : 1;
}
