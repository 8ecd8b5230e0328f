#include "admission/handler.hpp"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <exception>
#include <utility>

#include "api/dns_label.hpp"
#include "api/names.hpp"
#include "api/text.hpp"
#include "net/process/option_types.hpp"
#include "plain_response.hpp"

namespace admission {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

// The API server's default and its bounds (admissionregistration.k8s.io/v1, timeoutSeconds).
constexpr milliseconds default_timeout = 10s;
constexpr milliseconds min_timeout = 1s;
constexpr milliseconds max_timeout = 30s;
// The part of the timeout that is left for the network, and for a busy API server.
constexpr milliseconds reserve = 1s;

bool is_json(std::string_view media_type) {
    media_type = media_type.substr(0, media_type.find(';'));
    while (!media_type.empty() && media_type.back() == ' ') media_type.remove_suffix(1);
    return api::equal_ignoring_case(media_type, "application/json");
}

std::string_view query_value(std::string_view target, std::string_view name) {
    std::string_view query = target.substr(std::min(target.find('?'), target.size()));
    while (!query.empty()) {
        query.remove_prefix(1);
        const std::string_view pair = query.substr(0, query.find('&'));
        if (pair.starts_with(name) && pair.substr(name.size()).starts_with('='))
            return pair.substr(name.size() + 1);
        query.remove_prefix(pair.size());
    }
    return {};
}

bool is_of_group(const api::AdmissionRequest& request, std::string_view kind) {
    return request.group == api::trainer_group && request.version == api::trainer_version &&
           request.kind == kind;
}

bool is_of_kind(const api::Json& object, std::string_view kind) {
    return object["kind"].as_string() == kind && object["apiVersion"].as_string() == api::trainer_api_version;
}

std::string uid_of(const api::AdmissionRequest& request) {
    const api::Json& object = request.object.is_object() ? request.object : request.old_object;
    return std::string(object["metadata"]["uid"].as_string());
}

// Returns the verdicts that do not depend on the object; nullopt: the object has to be reviewed.
std::optional<api::Verdict> precheck(const api::AdmissionRequest& request, const Route& route,
                                     const kube::Namespaces& namespaces) {
    const std::string_view kind = route.kind;
    const bool is_update = request.operation == "UPDATE";
    const bool is_write = is_update || request.operation == "CREATE";
    if (!is_write && request.operation != "DELETE" && request.operation != "CONNECT")
        return api::bad_request("unknown operation " + api::quoted(request.operation) +
                                ": this webhook knows CREATE, UPDATE, DELETE and CONNECT");
    const bool is_deletion = request.operation == "DELETE" && route.reviews_deletions;
    if ((!is_write && !is_deletion) || !request.sub_resource.empty()) return api::allowed();
    // Reviews of deletions only warn, and only of the kind of the path in watched namespaces.
    if (is_deletion && (!is_of_group(request, kind) || !is_of_kind(request.old_object, kind) ||
                        (!request.ns.empty() && !namespaces.contains(request.ns))))
        return api::allowed();
    if (is_deletion) return std::nullopt;
    if (!is_of_group(request, kind))
        return api::bad_request("this path reviews " + std::string(kind) + " of " +
                                std::string(api::trainer_api_version) + ", not " + request.kind + " of " +
                                request.group + "/" + request.version +
                                ": check the rules of the webhook configuration");
    if (!request.ns.empty() && !namespaces.contains(request.ns))
        return api::bad_request("this webhook watches " + to_string(namespaces) + " and cannot read in " +
                                api::quoted(request.ns) +
                                ": add that namespace to its --namespaces, with a role there, or take it "
                                "out of the namespaceSelector of the webhook configurations");
    if (!is_of_kind(request.object, kind) || (is_update && !is_of_kind(request.old_object, kind)))
        return api::bad_request("request." +
                                std::string(is_of_kind(request.object, kind) ? "oldObject" : "object") +
                                " is not a " + std::string(kind));
    return std::nullopt;
}

// The result of a lookup. An exception is a bug. It is passed on by hand, because a race of awaitables treats
// a coroutine that throws as one that lost.
struct LookUp {
    api::Result<ReviewInputs> inputs = api::Error();
    std::exception_ptr thrown = {};
};

std::size_t values_of_runtime(const ReviewInputs& inputs) {
    return inputs.runtime ? count_tree_values(*inputs.runtime) : 0;
}

net::Task<LookUp> look_up_inputs(const InputReader& reader, const Subject& subject,
                                 InputReader::Runtime runtime, MaybeTurn& large) {
    LookUp outcome;
    try {
        outcome.inputs = co_await reader.look_up_inputs(subject, runtime, large);
    } catch (...) {
        outcome.thrown = std::current_exception();
    }
    co_return outcome;
}

Outcome outcome_of(const api::Verdict& verdict) {
    if (!verdict.denial) return verdict.patch.empty() ? Outcome::allowed : Outcome::patched;
    if (verdict.denial->code == 503) return Outcome::unavailable;
    return verdict.denial->code == 400 ? Outcome::bad : Outcome::invalid;
}

}  // namespace

struct ReviewHandler::Review {
    const Route* route = nullptr;
    api::AdmissionRequest request = {};
    std::string uid = {};  // of the object, for the log: reviews take the object apart
};

/// A review that waits for a lookup.
struct ReviewHandler::Waiting {
    const Route* route = nullptr;
    const net::HttpRequest& request;
    Subject subject = {};
    InputReader::Runtime runtime = InputReader::Runtime::known;
    std::optional<api::Verdict> by_watch = {};  // a denial that may depend on an old runtime
    kube::SteadyTime began = {};
    net::Semaphore::Permit permit = {};
};

/// Counts a request exactly once, as failed unless its end is recorded.
class ReviewHandler::RequestRecord {
public:
    RequestRecord(ReviewHandler& handler, const Route* route, kube::SteadyTime began)
        : handler_(handler), route_(route), began_(began) {}
    ~RequestRecord() {
        if (!open_) return;
        const std::chrono::duration<double> took = handler_.clock_.now() - began_;
        handler_.observer_.ended(route_, outcome_, took.count());
    }
    RequestRecord(const RequestRecord&) = delete;
    RequestRecord& operator=(const RequestRecord&) = delete;

    void ended_as(Outcome outcome) { outcome_ = outcome; }
    /// Called if the request is counted elsewhere.
    void close() { open_ = false; }
    const Route* route() const { return route_; }
    kube::SteadyTime began() const { return began_; }

private:
    ReviewHandler& handler_;
    const Route* route_;
    kube::SteadyTime began_;
    Outcome outcome_ = Outcome::failed;
    bool open_ = true;
};

milliseconds lookup_timeout(std::string_view target) {
    milliseconds timeout = default_timeout;
    // An unreadable timeout leaves the default.
    (void)net::read_option(query_value(target, "timeout"), timeout);
    timeout = std::clamp(timeout, min_timeout, max_timeout);
    return std::max(timeout - reserve, timeout / 2);
}

net::Answer ReviewHandler::answer_by(net::HttpRequest& request, kube::SteadyTime came) {
    if (turns_ && request.body.size() > expensive_bytes) return answer_in_turn(request, came);
    RequestRecord record(*this, find_route(request.target), came);
    return answer(request, record, turns_ ? InTurn::no : InTurn::yes);
}

// Answers when it is the review's turn. Refuses after the timeout, when a verdict is of no use.
net::Task<net::HttpResponse> ReviewHandler::answer_in_turn(net::HttpRequest& request, kube::SteadyTime came) {
    const kube::SteadyTime deadline = came + lookup_timeout(request.target);
    MaybeTurn turn;
    co_await take_turn(turns_->expensive, turn);
    if (clock_.now() > deadline) {
        observer_.refused(Outcome::overloaded);
        co_return plain(503, "too many large reviews at a time, try again");
    }
    RequestRecord record(*this, find_route(request.target), came);
    auto answered = answer(request, record, InTurn::yes);
    turn = {};
    if (auto* later = std::get_if<net::Task<net::HttpResponse>>(&answered))
        co_return co_await std::move(*later);
    co_return std::move(std::get<net::HttpResponse>(answered));
}

net::Answer ReviewHandler::answer(net::HttpRequest& request, RequestRecord& record, InTurn in_turn) {
    const Route* route = record.route();
    if (!route) {
        record.ended_as(Outcome::no_route);
        return plain(404, "not found: the paths are those of the webhook configurations");
    }
    if (request.method != "POST") {
        record.ended_as(Outcome::wrong_method);
        net::HttpResponse response = plain(405, "only POST");
        response.headers.emplace_back("Allow", "POST");
        return response;
    }
    if (!is_json(net::header(request.headers, "Content-Type"))) {
        record.ended_as(Outcome::wrong_media_type);
        return plain(415, "only application/json");
    }
    auto decoded = decode(*route, request.body);
    if (!decoded) {
        record.ended_as(Outcome::not_a_review);
        return plain(400, api::describe(decoded.error()));
    }

    Review& review = *decoded;
    if (const auto verdict = precheck(review.request, *route, namespaces_))
        return conclude(review, *verdict, record);
    runtime::RequiredInputs required;
    if (route->lookups) required = route->lookups(review.request);
    if (in_turn == InTurn::no && inputs_.cached_values(review.request, required) > expensive_values) {
        record.close();
        return answer_in_turn(request, record.began());
    }
    if (required.queued_jobs && !may_count_jobs(review.request, record.began())) required.queued_jobs = false;
    std::optional<api::Verdict> by_watch;
    if (const auto inputs = inputs_.from_cache(review.request, required)) {
        api::Verdict verdict = verdict_of(review, *inputs);
        if (!may_be_stale(verdict, *inputs)) return conclude(review, verdict, record);
        by_watch = std::move(verdict);
        // verdict_of() has taken the objects of the review apart.
        review = decode(*route, request.body).value();
    }
    Subject subject = subject_of(review.request, required);
    subject.is_large = request.body.size() > expensive_bytes;
    Waiting waiting = {.route = route,
                       .request = request,
                       .subject = std::move(subject),
                       .runtime = by_watch ? InputReader::Runtime::live : InputReader::Runtime::known,
                       .by_watch = std::move(by_watch),
                       .began = record.began()};
    return wait_for_lookup(std::move(waiting), review, record);
}

api::Result<ReviewHandler::Review> ReviewHandler::decode(const Route& route, std::string_view body) const {
    auto request = api::decode_admission_review(body, route.unread_on_create);
    if (!request) return request.error();
    Review review = {.route = &route, .request = std::move(*request)};
    if (log_.enabled(net::LogLevel::debug)) review.uid = uid_of(review.request);
    // Reviews recognize an UPDATE by its old object, so a CREATE must not have one.
    if (review.request.operation == "CREATE") review.request.old_object = api::Json();
    return review;
}

net::Answer ReviewHandler::wait_for_lookup(Waiting waiting, Review& review, RequestRecord& record) {
    if (lookup_permits_) {
        waiting.permit = lookup_permits_->try_take(waiting.request.peer);
        if (!waiting.permit) {
            if (const auto verdict = verdict_without_lookup(waiting, review))
                return conclude(review, *verdict, record);
            record.close();
            observer_.refused(Outcome::overloaded);
            return plain(503, "too many reviews wait for the API server, try again");
        }
    }
    record.close();
    return answer_later(std::move(waiting));
}

// Returns the verdict that does not need the failed lookup; nullopt: none. If the lookup was for a warning
// only, that is missing, which is no reason for a denial.
std::optional<api::Verdict> ReviewHandler::verdict_without_lookup(const Waiting& waiting,
                                                                  Review& review) const {
    if (waiting.subject.required.queued_jobs) return verdict_of(review, ReviewInputs());
    return waiting.by_watch;
}

api::Verdict ReviewHandler::verdict_after(const api::Error& failed, const Waiting& waiting, Review& review) {
    if (auto verdict = verdict_without_lookup(waiting, review)) return std::move(*verdict);
    return unavailable_for(failed);
}

net::Task<net::HttpResponse> ReviewHandler::answer_later(Waiting waiting) {
    using namespace boost::asio::experimental::awaitable_operators;
    RequestRecord record(*this, waiting.route, waiting.began);
    const std::string& body = waiting.request.body;
    const kube::SteadyTime deadline = waiting.began + lookup_timeout(waiting.request.target);
    for (;;) {
        MaybeTurn large;
        auto found = co_await (look_up_inputs(inputs_, waiting.subject, waiting.runtime, large) ||
                               clock_.sleep_until(deadline));
        auto* outcome = std::get_if<LookUp>(&found);
        if (outcome && outcome->thrown) std::rethrow_exception(outcome->thrown);
        const ReviewInputs* inputs = outcome && outcome->inputs ? &*outcome->inputs : nullptr;
        MaybeTurn turn;
        const bool is_expensive =
            waiting.subject.is_large || (inputs && values_of_runtime(*inputs) > expensive_values);
        if (turns_ && is_expensive) co_await take_turn(turns_->expensive, turn);
        Review review = decode(*waiting.route, body).value();
        if (!inputs) {
            const api::Error late = {.code = api::Errc::unavailable,
                                     .message = "the API server did not answer a lookup in time"};
            const api::Verdict verdict =
                verdict_after(outcome ? outcome->inputs.error() : late, waiting, review);
            co_return conclude(review, verdict, record);
        }
        note_lookup(nullptr);
        api::Verdict verdict = verdict_of(review, *inputs);
        if (!may_be_stale(verdict, *inputs)) co_return conclude(review, verdict, record);
        waiting.by_watch = std::move(verdict);
        waiting.runtime = InputReader::Runtime::live;
    }
}

api::Verdict ReviewHandler::verdict_of(Review& review, const ReviewInputs& inputs) const {
    const auto now = std::chrono::floor<std::chrono::seconds>(clock_.wall());
    return review.route->review(review.request,
                                {.inputs = inputs, .now = now, .pipeline = pipeline_, .policy = policy_});
}

bool ReviewHandler::may_be_stale(const api::Verdict& verdict, const ReviewInputs& inputs) {
    return verdict.denial && inputs.watched &&
           rereads_.take(std::hash<api::ObjectKey>()(*inputs.watched), clock_.now());
}

// Returns whether the TrainJobs of a runtime may be counted now. Each count lists TrainJobs, so there are not
// many of them. No TrainJob uses a runtime whose name is invalid.
bool ReviewHandler::may_count_jobs(const api::AdmissionRequest& request, kube::SteadyTime now) {
    if (!api::is_dns_subdomain(request.name)) return false;
    if (!request.ns.empty() && !api::is_dns_label(request.ns)) return false;
    const std::uint64_t runtime = std::hash<api::ObjectKey>()({request.ns, request.name});
    return counts_of_jobs_.take(runtime, now) && all_counts_of_jobs_.take(now);
}

net::HttpResponse ReviewHandler::conclude(const Review& review, const api::Verdict& verdict,
                                          RequestRecord& record) {
    net::HttpResponse response = {.headers = {{"Content-Type", "application/json"}},
                                  .body = api::encode_admission_review(review.request, verdict)};
    record.ended_as(outcome_of(verdict));
    observer_.judged(*review.route, verdict);
    if (log_.enabled(net::LogLevel::debug)) {
        const api::AdmissionRequest& request = review.request;
        const std::string_view kind = review.route->kind;
        log_.debug("reviewed", {{"path", review.route->path},
                                {"operation", request.operation},
                                {kind == api::train_job_kind ? "trainjob" : "runtime",
                                 api::ObjectKey{request.ns, request.name}},
                                {"uid", review.uid},
                                {"review", request.uid},
                                {"allowed", verdict.allowed()},
                                {"message", verdict.denial ? verdict.denial->message : ""}});
    }
    return response;
}

// Returns the denial for a failed lookup. Any client may call, so the API server's message and address are
// for the log only.
api::Verdict ReviewHandler::unavailable_for(const api::Error& error) {
    note_lookup(&error);
    log_.debug("a lookup failed", {{"error", error}});
    return api::unavailable(
        "what this is judged by could not be read from the API server: try again; if that does not help, the "
        "log of signalbox-webhook says why");
}

// Logs when lookups begin to fail, and when they work again: while the API server is down, every lookup
// fails.
void ReviewHandler::note_lookup(const api::Error* error) {
    if (!lookup_transitions_.note(error != nullptr, clock_.now())) return;
    if (error)
        log_.warn("cannot look up what reviews need; refusing those", {{"error", *error}});
    else
        log_.info("lookups work again");
}

}  // namespace admission
