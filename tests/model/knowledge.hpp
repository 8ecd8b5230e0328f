#pragma once
#include <map>
#include <string>

#include "api/meta.hpp"
#include "api/time.hpp"

namespace model {

/// The state of an object in a line of a watch, or in an answer.
struct Seen {
    api::ObjectKey key = {};   ///< without a name: about no object
    std::string uid = {};      ///< empty: it does not exist
    std::string version = {};  ///< its resourceVersion, or that of the read
};

/// The state of objects as one process has received it, by watches and by answers: the possible targets of
/// its writes, however much has changed since.
class Knowledge {
public:
    struct Object {
        std::string uid = {};  ///< empty: it does not exist, as far as the process knows
        std::string version = {};
        api::Time read = {};   ///< time of the last GET whose answer arrived
        api::Time shown = {};  ///< time of the last answer with it, to a GET or to a write
    };

    void note(std::string_view resource, const Seen& seen) {
        Object& object = objects_[{std::string(resource), seen.key}];
        // A watch may lag behind an answer.
        if (is_older(seen.version, object.version)) return;
        object.uid = seen.uid;
        object.version = seen.version;
    }
    void read(std::string_view resource, const api::ObjectKey& key, api::Time at) {
        objects_[{std::string(resource), key}].read = at;
        show(resource, key, at);
    }
    void show(std::string_view resource, const api::ObjectKey& key, api::Time at) {
        objects_[{std::string(resource), key}].shown = at;
    }
    Object of(std::string_view resource, const api::ObjectKey& key) const {
        const auto at = objects_.find({std::string(resource), key});
        return at == objects_.end() ? Object() : at->second;
    }

private:
    static bool is_older(const std::string& a, const std::string& b) {
        return a.size() < b.size() || (a.size() == b.size() && a < b);
    }

    std::map<std::pair<std::string, api::ObjectKey>, Object> objects_;
};

}  // namespace model
