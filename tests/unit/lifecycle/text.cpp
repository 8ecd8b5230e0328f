#include "text.hpp"

namespace lifecycle {
namespace {

std::string step_text(JobSetAction step) {
    switch (step) {
        case JobSetAction::leave: return "leave";
        case JobSetAction::wait_until_gone: return "wait until gone";
        case JobSetAction::create: return "create";
        case JobSetAction::update: return "update";
        case JobSetAction::resume: return "resume";
        case JobSetAction::wait_until_stopped: return "wait until stopped";
        case JobSetAction::back_off: return "back off";
        case JobSetAction::retire: return "retire";
        case JobSetAction::refuse: return "refuse";
    }
    return "?";
}

struct Describe {
    std::string operator()(const Ignore&) const { return "ignore"; }
    std::string operator()(const StoreTransition&) const { return "store transition"; }
    std::string operator()(const Finish& finish) const {
        return "finish " + finish.condition.type + "/" + finish.condition.reason +
               (finish.judges == Judged::nothing   ? ""
                : finish.judges == Judged::failure ? ", judges"
                                                   : ", judges the hang");
    }
    std::string operator()(const Restart& restart) const {
        return restart.judgement.counts() ? "restart" : "restart, uncounted";
    }
    std::string operator()(const CleanUp& clean_up) const {
        switch (clean_up.job_set) {
            case EndOfJobSet::leave: return "clean up";
            case EndOfJobSet::suspend: return "clean up: suspend JobSet";
            case EndOfJobSet::wait: return "clean up: wait for Pods";
            case EndOfJobSet::remove: return "clean up: delete JobSet";
        }
        return "?";
    }
    std::string operator()(const Expire&) const { return "expire"; }
    std::string operator()(const Run& run) const {
        return std::string("run: ") + (run.suspend_job_set ? "suspend, " : "") + step_text(run.job_set) +
               (run.build ? "" : ", no build") + (run.rebuilds ? ", rebuilds" : "") +
               (run.adopts ? ", adopts" : "") + (run.resizes ? ", resizes" : "");
    }
};

void add_word(std::string& words, std::string_view word) {
    if (!words.empty()) words += ' ';
    words += word;
}

}  // namespace

std::string text(const Decision& decision) { return std::visit(Describe(), decision); }

std::string text(std::span<const api::Condition> conditions) {
    std::string words;
    for (const api::Condition& c : conditions) add_word(words, c.type + "=" + c.status + "/" + c.reason);
    return words;
}

std::string text(std::span<const Event> events) {
    std::string words;
    for (const Event& event : events)
        words += (words.empty() ? "" : ", ") + std::string(to_string(event.type)) + " " + event.reason;
    return words;
}

std::string text(std::span<const api::JobStatus> jobs) {
    std::string words;
    for (const api::JobStatus& job : jobs) {
        add_word(words, job.name + ":");
        const std::pair<std::int64_t, const char*> counts[] = {{job.ready, " ready"},
                                                               {job.succeeded, " succeeded"},
                                                               {job.failed, " failed"},
                                                               {job.active, " active"},
                                                               {job.suspended, " suspended"}};
        for (const auto& [count, name] : counts)
            if (count != 0) add_word(words, std::to_string(count) + name);
    }
    return words;
}

}  // namespace lifecycle
