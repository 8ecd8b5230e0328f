#include "admission/handler.hpp"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <exception>
#include <utility>

#include "api/dns_label.hpp"
#include "api/names.hpp"
#include "api/text.hpp"
#include "held_review.hpp"
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

// Of a usual runtime's jobs a part is enough for a warning, but not for a denial.
constexpr std::size_t most_pages_before_a_deletion = 40;

constexpr const char* too_many_large = "too many large reviews at a time, try again";

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

bool is_expensive(const api::Result<ReviewInputs>& inputs) {
    return inputs && inputs->runtime && count_tree_values(*inputs->runtime) > expensive_values;
}

Outcome outcome_of(const api::Verdict& verdict) {
    if (!verdict.denial) return verdict.patch.empty() ? Outcome::allowed : Outcome::patched;
    if (verdict.denial->code == 503) return Outcome::unavailable;
    return verdict.denial->code == 400 ? Outcome::bad : Outcome::invalid;
}

}  // namespace

/// Counts a request exactly once, as failed unless its end is recorded.
class ReviewHandler::RequestRecord {
public:
    RequestRecord(ReviewHandler& handler, const Route* route, kube::SteadyTime began)
        : handler_(handler), route_(route), began_(began) {}
    ~RequestRecord() {
        const std::chrono::duration<double> took = handler_.clock_.now() - began_;
        if (is_refused_)
            handler_.observer_.refused(outcome_);
        else
            handler_.observer_.ended(route_, outcome_, took.count());
    }
    RequestRecord(const RequestRecord&) = delete;
    RequestRecord& operator=(const RequestRecord&) = delete;

    /// Returns the response for a request that ended so.
    net::HttpResponse end(Outcome outcome, net::HttpResponse response) {
        outcome_ = outcome;
        return response;
    }
    net::HttpResponse refuse_as_overloaded(const char* text) {
        is_refused_ = true;
        return end(Outcome::overloaded, plain(503, text));
    }
    const Route* route() const { return route_; }

private:
    ReviewHandler& handler_;
    const Route* route_;
    kube::SteadyTime began_;
    Outcome outcome_ = Outcome::failed;
    bool is_refused_ = false;
};

milliseconds lookup_timeout(std::string_view target) {
    milliseconds timeout = default_timeout;
    // An unreadable timeout leaves the default.
    (void)net::read_option(query_value(target, "timeout"), timeout);
    timeout = std::clamp(timeout, min_timeout, max_timeout);
    return std::max(timeout - reserve, timeout / 2);
}

net::Task<net::HttpResponse> ReviewHandler::answer_by(net::HttpRequest& request, kube::SteadyTime came) {
    // Read.
    RequestRecord record(*this, find_route(request.target), came);
    if (auto refusal = refuse_unread(request, record)) co_return std::move(*refusal);
    const Route& route = *record.route();
    const kube::SteadyTime deadline = came + lookup_timeout(request.target);

    // Decode; what is large, in turn.
    const bool is_large = request.body.size() > expensive_bytes;
    MaybeTurn turn;
    if (is_large) co_await take_expensive(turn);
    if (turn && clock_.now() > deadline) co_return record.refuse_as_overloaded(too_many_large);
    HeldReview review(route, request.body, turns_);
    if (const auto decoded = review.decode(); !decoded)
        co_return record.end(Outcome::not_a_review, plain(400, api::describe(decoded.error())));
    if (const auto verdict = precheck(review.get().request, route, namespaces_))
        co_return conclude(review.get(), *verdict, record);
    const Subject subject = subject_for(review.get().request, route, came, is_large);
    review.take_objects();
    if (!turn && inputs_.cached_values(subject) > expensive_values) {
        review.rest();
        co_await take_expensive(turn);
        if (turn && clock_.now() > deadline) co_return record.refuse_as_overloaded(too_many_large);
    }

    // Look up and judge, until the verdict rests on nothing old.
    auto judged = co_await judge(review, subject, request.peer, deadline, turn);
    if (!judged) co_return record.refuse_as_overloaded("too many reviews wait for the API server, try again");

    // Warn of a Service. Nobody else has to wait for that.
    if (judged->service) {
        turn = {};
        review.forget_objects();
        co_await look_at_service(*judged, request.peer);
    }

    // Write.
    co_return conclude(review.get(), judged->verdict, record);
}

// Returns nullopt if the verdict needs a lookup, and too many reviews wait for one. Takes the turn if it
// judges what is expensive.
net::Task<std::optional<ReviewHandler::Judged>> ReviewHandler::judge(HeldReview& review,
                                                                     const Subject& subject,
                                                                     std::string_view peer,
                                                                     kube::SteadyTime deadline,
                                                                     MaybeTurn& turn) {
    std::optional<Judged> by_watch;  // a denial that may depend on an old runtime
    const auto verdict_without_lookup = [&]() -> std::optional<Judged> {
        // Whoever only warns does without.
        if (subject.required.jobs_of_runtime) return Judged{verdict_on(review, ReviewInputs())};
        return by_watch;
    };
    net::Semaphore::Permit permit;
    MaybeTurn large;
    auto inputs = inputs_.from_cache(subject);
    while (true) {
        if (inputs) {
            Judged judged = {.verdict = verdict_on(review, *inputs)};
            if (services_ && judged.verdict.allowed())
                judged.service = service_question(review.route(), review.get(), *inputs);
            if (!may_be_stale(judged.verdict, *inputs)) co_return judged;
            by_watch = std::move(judged);
        }
        if (lookup_permits_ && !permit) {
            permit = lookup_permits_->try_take(peer);
            if (!permit) co_return verdict_without_lookup();
        }
        inputs.reset();
        large = {};
        turn = {};
        review.rest();
        const auto runtime = by_watch ? InputReader::Runtime::live : InputReader::Runtime::known;
        auto found = co_await look_up(subject, runtime, deadline, large);
        if (subject.is_large || is_expensive(found)) co_await take_expensive(turn);
        if (!found) {
            auto judged = verdict_without_lookup();
            if (!judged) judged = Judged{unavailable_for(found.error())};
            co_return judged;
        }
        note_lookup(nullptr);
        inputs = std::move(*found);
    }
}

net::Task<> ReviewHandler::look_at_service(Judged& judged, std::string_view peer) {
    net::Semaphore::Permit permit;
    if (lookup_permits_) permit = lookup_permits_->try_take(peer);
    if ((lookup_permits_ && !permit) || !services_->may_look()) co_return;
    co_await services_->add_warning(*judged.service, judged.verdict);
}

// Returns the response to what is no review of any path, whatever its body says.
std::optional<net::HttpResponse> ReviewHandler::refuse_unread(const net::HttpRequest& request,
                                                              RequestRecord& record) const {
    if (!record.route())
        return record.end(Outcome::no_route,
                          plain(404, "not found: the paths are those of the webhook configurations"));
    if (request.method != "POST") {
        net::HttpResponse response = plain(405, "only POST");
        response.headers.emplace_back("Allow", "POST");
        return record.end(Outcome::wrong_method, std::move(response));
    }
    if (!is_json(net::header(request.headers, "Content-Type")))
        return record.end(Outcome::wrong_media_type, plain(415, "only application/json"));
    return std::nullopt;
}

net::Task<> ReviewHandler::take_expensive(MaybeTurn& turn) const {
    if (turns_) co_await take_turn(turns_->expensive, turn);
}

Subject ReviewHandler::subject_for(const api::AdmissionRequest& request, const Route& route,
                                   kube::SteadyTime came, bool is_large) {
    runtime::RequiredInputs required;
    if (route.lookups) required = route.lookups(request);
    if (required.jobs_of_runtime && !may_count_jobs(request, came)) required.jobs_of_runtime = false;
    Subject subject = subject_of(request, required);
    subject.now = wall_seconds();
    if (required.jobs_of_runtime)
        subject.policy_of_all = new_policy_of_all(request.object, request.old_object);
    if (policy_.keeps_runtimes_in_use) subject.most_pages_of_jobs = most_pages_before_a_deletion;
    subject.is_large = is_large;
    return subject;
}

net::Async<ReviewInputs> ReviewHandler::look_up(const Subject& subject, InputReader::Runtime runtime,
                                                kube::SteadyTime deadline, MaybeTurn& large) {
    using namespace boost::asio::experimental::awaitable_operators;
    auto first = co_await (look_up_inputs(inputs_, subject, runtime, large) || clock_.sleep_until(deadline));
    auto* found = std::get_if<LookUp>(&first);
    if (!found)
        co_return api::Error{.code = api::Errc::unavailable,
                             .message = "the API server did not answer a lookup in time"};
    if (found->thrown) std::rethrow_exception(found->thrown);
    co_return std::move(found->inputs);
}

api::Time ReviewHandler::wall_seconds() const {
    return std::chrono::floor<std::chrono::seconds>(clock_.wall());
}

api::Verdict ReviewHandler::verdict_on(HeldReview& review, const ReviewInputs& inputs) const {
    return review.route().judge(
        review.get(), {.inputs = inputs, .now = wall_seconds(), .pipeline = pipeline_, .policy = policy_});
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
    const Route& route = *record.route();
    const api::AdmissionRequest& request = review.request;
    observer_.judged(route, verdict);
    if (log_.enabled(net::LogLevel::debug))
        log_.debug("reviewed", {{"path", route.path},
                                {"operation", request.operation},
                                {route.kind == api::train_job_kind ? "trainjob" : "runtime",
                                 api::ObjectKey{request.ns, request.name}},
                                {"uid", review.uid},
                                {"review", request.uid},
                                {"allowed", verdict.allowed()},
                                {"message", verdict.denial ? verdict.denial->message : ""}});
    return record.end(outcome_of(verdict), {.headers = {{"Content-Type", "application/json"}},
                                            .body = api::encode_admission_review(request, verdict)});
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
