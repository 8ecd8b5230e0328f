#pragma once
// The API server's part of one Lease.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/json.hpp"
#include "kube/client/request.hpp"
#include "support/fake_api_server.hpp"

struct FakeLease {
    std::optional<api::Json> lease;
    std::vector<std::string> requests;  // methods
    int conflicts = 0;
    api::Json managed_fields = {};  // of what is stored

    api::Result<api::Json> handle(const kube::Request& request) {
        requests.push_back(request.method);
        if (request.method == "POST") {
            if (lease) return conflict();
            lease = *api::parse_json(request.body);
            return stored();
        }
        if (!lease) return refusal(404, api::Errc::not_found);
        if (request.method == "GET") return *lease;
        api::Json object = *api::parse_json(request.body);
        if (version_of(object) != version_of(*lease)) return conflict();
        lease = std::move(object);
        return stored();
    }

    void set(const std::string& field, api::Json value) {
        (*lease)["spec"][field] = std::move(value);
        stored();
    }
    void touch() {
        (*lease)["metadata"]["annotations"]["edited"] = "yes";
        stored();
    }
    /// Returns a field of the spec as text; "" if it is absent.
    std::string spec(const std::string& field) const {
        const api::Json& value = std::as_const(*lease)["spec"][field];
        if (value.is_null()) return "";
        return value.is_string() ? std::string(value.as_string()) : api::to_json(value);
    }

private:
    static std::string version_of(const api::Json& object) {
        return std::string(object["metadata"]["resourceVersion"].as_string());
    }
    api::Result<api::Json> conflict() {
        ++conflicts;
        return refusal(409, api::Errc::conflict);
    }
    api::Json stored() {
        (*lease)["metadata"]["resourceVersion"] = std::to_string(++version_);
        if (!managed_fields.is_null()) (*lease)["metadata"]["managedFields"] = managed_fields;
        return *lease;
    }
    int version_ = 1000;
};
