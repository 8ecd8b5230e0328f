#pragma once
#include <string_view>

#include "api/json.hpp"
#include "api/named_items.hpp"

/// Functions that edit Pod templates. An upsert replaces the entry with the same key at its position, or else
/// appends it. All of them require trees of a checked shape (shape.hpp).
namespace runtime {

/// Returns an entry with a value; an empty value is written too.
api::Json env_value(std::string_view name, std::string value);
/// Returns an entry with the index of a Pod in its Job: the rank of its node.
api::Json env_rank(std::string_view name);

/// Upserts by `name` into a container: one entry, or a list of them.
void upsert_env(api::Json& container, api::Json entry);
void upsert_all_env(api::Json& container, const api::Json& entries);
/// Upserts by `mountPath` into a container.
void upsert_mount(api::Json& container, api::Json mount);
/// Upserts by `name` into a Pod's spec.
void upsert_volume(api::Json& pod_spec, api::Json volume);
/// Upserts by `name` into a Pod's spec: claims with their source, and nothing else of them.
void upsert_all_claims(api::Json& pod_spec, const api::Json& claims);
/// Appends the claims, by `name`, that the container does not use yet.
void add_missing_claims(api::Json& container, const api::Json& claims);
/// Upserts by (containerPort, protocol) into a container. Fails if another port has the same name; the field
/// of the error is a path in the container ("ports[1].name").
api::Result<> upsert_port(api::Json& container, api::Json port);

}  // namespace runtime
