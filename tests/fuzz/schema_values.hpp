#pragma once
#include <random>
#include <string>

#include "api/json.hpp"

/// Makes objects that a CRD's schema admits: types, bounds, enums, required fields, list keys. (CEL rules are
/// not looked at: more is made than an API server stores.) Values are such that they meet: names of jobs and
/// containers, resources with and without GPUs, the labels of the three steps. The same seed makes the same
/// objects.
class SchemaValues {
public:
    explicit SchemaValues(std::uint64_t seed) : random_(seed) {}

    /// `schema` is an openAPIV3Schema or a part of it; `name` is the member that the value is for.
    api::Json make(const api::Json& schema, std::string_view name, int depth = 0);

    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
    bool maybe(unsigned percent) { return below(100) < percent; }

private:
    api::Json object(const api::Json& schema, int depth);
    api::Json map(const api::Json& schema, std::string_view name, int depth);
    api::Json list(const api::Json& schema, std::string_view name, int depth);
    api::Json integer(const api::Json& schema);
    api::Json text(const api::Json& schema, std::string_view name);
    api::Json quantity();

    std::mt19937_64 random_;
};
