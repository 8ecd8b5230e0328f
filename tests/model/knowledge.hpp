#pragma once
#include <map>
#include <string>

#include "api/meta.hpp"
#include "api/time.hpp"

namespace faults {

/// What a line of a watch, or an answer, says of an object.
struct Told {
    api::ObjectKey key = {};   ///< without a name: it is about nothing
    std::string uid = {};      ///< empty: there is none
    std::string version = {};  ///< as of which
};

/// What one process has been told of the objects out there, by its watches and by answers: all that a write
/// of its can have been meant for, however much has happened since.
class Knowledge {
public:
    struct Object {
        std::string uid = {};  ///< empty: there is none, as far as it knows
        std::string version = {};
        api::Time read = {};  ///< when the API server answered the last GET of it that came back
    };

    void told(std::string_view resource, const Told& told) {
        Object& object = objects_[{std::string(resource), told.key}];
        // A watch may be behind what an answer has said.
        if (is_older(told.version, object.version)) return;
        object.uid = told.uid;
        object.version = told.version;
    }
    void read(std::string_view resource, const api::ObjectKey& key, api::Time at) {
        objects_[{std::string(resource), key}].read = at;
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

}  // namespace faults
