#pragma once
#include <string_view>

#include "api/json.hpp"
#include "api/named_items.hpp"

/// Editing of Pod templates. To upsert is to replace the entry with the same key where it stands, else to
/// append. All of them want trees of a checked shape (shape.hpp).
namespace runtime {

/// An entry with a value; the value is written even if it is empty.
api::Json env_value(std::string_view name, std::string value);
/// The index of a Pod in its Job: the rank of its node.
api::Json env_rank(std::string_view name);

/// By `name`, into a container; one entry, or a list of them.
void upsert_env(api::Json& container, api::Json entry);
void upsert_all_env(api::Json& container, const api::Json& entries);
/// By `mountPath`, into a container.
void upsert_mount(api::Json& container, api::Json mount);
/// By `name`, into a Pod's spec.
void upsert_volume(api::Json& pod_spec, api::Json volume);
/// By (containerPort, protocol), into a container. Fails when another port has the same name; the field of
/// the error is a path in the container ("ports[1].name").
api::Result<> upsert_port(api::Json& container, api::Json port);

}  // namespace runtime
