#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/time.hpp"
#include "field_set.hpp"
#include "kube/client/request.hpp"

namespace model {

/// An HTTP answer.
struct Reply {
    int status = 200;
    std::string body = {};
    int retry_after = 0;  ///< seconds; 0 without the header

    bool ok() const { return status < 300; }
};

/// A Status object as the API server writes it.
Reply failure(int code, std::string_view reason, const std::string& message);

/// One kind of objects that the model serves.
struct Kind {
    std::string_view resource;  ///< as kube::to_string()
    std::string_view api_version;
    std::string_view kind;
    bool has_status = false;      ///< served as a subresource
    bool has_generation = false;  ///< counts the changes of the spec
    bool tracks_fields = false;   ///< managedFields; not tracked for the other kinds
};

/// Returns the kind "jobsets.jobset.x-k8s.io" and so on; nullptr if it is not served.
const Kind* kind_of(std::string_view resource);

struct Manager {
    std::string name;
    bool applies = false;
    std::string subresource = {};

    auto operator<=>(const Manager&) const = default;
};

struct Stored {
    api::Json object = {};  ///< without managedFields
    std::map<Manager, FieldSet> managers = {};
    std::shared_ptr<const std::string> text = {};  ///< as it is sent

    std::string uid() const { return std::string(object["metadata"]["uid"].as_string()); }
    std::string version() const { return std::string(object["metadata"]["resourceVersion"].as_string()); }
};

struct Change {
    enum class Type { added, modified, deleted };
    std::uint64_t version = 0;
    Type type = Type::added;
    api::ObjectKey key = {};
    std::string uid = {};
    std::shared_ptr<const std::string> text = {};
};

/// An API server in memory that is faithful where controllers depend on it: resourceVersions, preconditions,
/// server-side apply with its ownership of fields, the status subresource, generations, finalizers, the three
/// ways to delete, admission of JobSets, and a history to watch. tests/cluster/lifecycle/test_model.py
/// compares it with the real one. It has no garbage collector and no controllers; see garbage_collector.hpp
/// and job_set_controller.hpp.
class ApiModel {
public:
    explicit ApiModel(std::function<api::Time()> now) : now_(std::move(now)) {}

    Reply handle(const kube::Request& request, const std::string& user = "");

    /// Stores an object as it is, also with fields that no request can write: its UID, its status, its times.
    /// Missing fields of the server are set; managed fields stay unchanged.
    void restore(std::string_view resource, api::Json object);

    /// Returns the object; nullptr if there is none. Valid until the next request.
    const Stored* find(std::string_view resource, const api::ObjectKey& key) const;
    struct Name {
        std::string_view resource = {};  ///< empty: not a resource that is served
        api::ObjectKey key = {};         ///< without a name: a collection
    };
    /// Returns the target of a request.
    static Name name_of(const std::string& target);
    /// Returns its object; nullptr if there is none.
    const Stored* find_target(const std::string& target) const;
    const std::map<api::ObjectKey, Stored>& all(std::string_view resource) const;
    std::uint64_t version() const { return version_; }

    /// Returns the changes of the objects of a resource, oldest first.
    const std::deque<Change>& history(std::string_view resource) const;
    /// Forgets the changes up to now: a watch from an older version gets 410.
    void compact(std::string_view resource);
    std::uint64_t compacted(std::string_view resource) const;

    /// Changes of created objects by policies and webhooks of the cluster.
    std::function<void(const Kind&, api::Json& object)> mutate_create = {};
    /// Denials other than our webhook's, for example of a quota or a namespace that is being deleted. Called
    /// before an object is created.
    std::function<std::optional<Reply>(const Kind&, const api::Json& object)> admit_create = {};
    /// The user that writes TrainJobs back from types that lack some of our fields. Our webhook recognizes
    /// this user.
    static constexpr std::string_view kueue = "kueue";

    /// Whether our webhook validates changes of TrainJobs. Otherwise it is not reachable.
    bool reviews_edits = false;

    /// Called after every change that was stored. `before` is null for a create, `after` for a deletion.
    std::function<void(const Kind&, const api::ObjectKey&, const api::Json& before, const api::Json& after)>
        changed = {};

private:
    struct Target {
        const Kind* kind = nullptr;
        api::ObjectKey key = {};
        bool status = false;
        std::string user = {};
        std::map<std::string, std::string> query = {};
    };
    using Objects = std::map<api::ObjectKey, Stored>;

    static Target parse(const std::string& target);
    Reply get(const Target& target) const;
    Reply list(const Target& target) const;
    Reply create(const Target& target, api::Json object, const Manager& manager, bool applied);
    Reply merge_patch(const Target& target, const api::Json& patch);
    Reply apply(const Target& target, const api::Json& config);
    Reply replace(const Target& target, const api::Json& object);
    Reply remove(const Target& target, const api::Json& options);
    Reply store(const Target& target, const api::Json& before, api::Json after,
                std::map<Manager, FieldSet> managers);
    void drop(const Kind& kind, const api::ObjectKey& key);
    void note(const Kind& kind, const api::ObjectKey& key, Change::Type type, std::string uid,
              std::shared_ptr<const std::string> text);
    std::shared_ptr<const std::string> written(const Kind& kind, const Stored& stored) const;

    std::function<api::Time()> now_;
    std::map<std::string, Objects, std::less<>> objects_;
    std::map<std::string, std::deque<Change>, std::less<>> history_;
    std::map<std::string, std::uint64_t, std::less<>> compacted_;
    std::uint64_t version_ = 980;  // one digit longer soon: as texts, such versions compare the wrong way
    std::uint64_t uids_ = 0;
};

}  // namespace model
