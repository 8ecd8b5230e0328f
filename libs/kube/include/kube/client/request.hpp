#pragma once
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "api/json.hpp"
#include "api/meta.hpp"
#include "api/object_key.hpp"
#include "api/resource.hpp"
#include "kube/client/line_splitter.hpp"

namespace kube {

using api::Resource;
using api::to_string;
namespace resources {
using namespace api::resources;
}

/// Returns "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/name". Without a name it is the path of the
/// collection; without a namespace, of all namespaces. Names are percent-encoded.
std::string path(const Resource& resource, const api::ObjectKey& key);

/// Returns the resource of a path as to_string() writes it, with its subresource:
/// "trainjobs.trainer.kubeflow.org/status". It contains no names of objects, so that there are few values; ""
/// for other paths, such as /version.
std::string resource_of(std::string_view target);

/// A request to the API server, as plain data.
struct Request {
    std::string method = "GET";
    std::string target = {};        ///< path and query, encoded
    std::string content_type = {};  ///< of the body; empty without a body
    std::string body = {};
    std::string accept = {};                     ///< empty: application/json
    std::size_t max_answer = 64 * 1024 * 1024;   ///< bytes; a longer response is `too_large`; not for watches
    std::chrono::seconds idle_timeout{11 * 60};  ///< only for watches: a longer silence breaks the stream
    Lines lines = Lines::objects;                ///< of a watch
};

/// What a write has been decided on. The API server responds with `conflict` if it does not hold any more.
/// The functions below have no default for it. The object is as it was read. What it does not have (objects
/// of a file) is not checked.
struct SameVersion {
    explicit SameVersion(const api::ObjectMeta& read)
        : uid(read.uid), resource_version(read.resource_version) {}
    std::string uid;
    std::string resource_version;
};
/// It may have changed, but it has not been made anew.
struct SameObject {
    explicit SameObject(std::string of_uid) : uid(std::move(of_uid)) {}
    std::string uid;
};
/// Nothing.
struct Unconditional {};
using OnlyIf = std::variant<SameVersion, SameObject, Unconditional>;

enum class Propagation { background, foreground };

Request get(const Resource& resource, const api::ObjectKey& key);
/// Writes take name and namespace from `object.metadata`.
Request create(const Resource& resource, const api::Json& object);
/// Server-side apply as field manager `trainer`. The object must have apiVersion, kind and name, and must not
/// have managedFields or status. An object that is gone is not created, unless that is unconditional.
Request apply(const Resource& resource, api::Json object, const OnlyIf& only_if, bool force);
/// The same as a create only: if the object exists when the request arrives, however late, it stays as it is
/// and the response is `conflict`. Only for custom resources: for other kinds the API server treats version 0
/// as none.
Request apply_new(const Resource& resource, api::Json object);
/// JSON merge patch as field manager `trainer`.
Request merge_patch(const Resource& resource, const api::ObjectKey& key, api::Json patch,
                    const OnlyIf& only_if);
Request merge_patch_status(const Resource& resource, const api::ObjectKey& key, api::Json patch,
                           const OnlyIf& only_if);
/// PUT; `conflict` unless the object's resourceVersion is current.
Request replace(const Resource& resource, const api::Json& object);
Request remove(const Resource& resource, const api::ObjectKey& key, Propagation how, const OnlyIf& only_if);

/// Returns the same write as a dry run: validated, but not stored.
Request dry_run(Request write);

/// Percent-encodes everything but RFC 3986's unreserved characters.
std::string percent_encode(std::string_view text);

}  // namespace kube
