#pragma once
#include <random>
#include <set>
#include <string>

#include "api/json.hpp"

/// Makes objects that a CRD's schema admits: types, bounds, enums, required fields, list keys. CEL rules are
/// ignored, so some objects are not storable. Values are chosen so that they refer to each other: names of
/// jobs and containers, resources with and without GPUs, the labels of the three steps. The same seed makes
/// the same objects.
class SchemaValues {
public:
    explicit SchemaValues(std::uint64_t seed) : random_(seed) {}

    /// Makes lists, maps and texts of these members long from now on: up to `items` items with keys of their
    /// own, or 20 times as many characters, with about `budget` additional values in all.
    void grow(std::set<std::string_view> members, std::uint64_t items, std::uint64_t budget);
    /// Returns the number of further items for a list of this member; 0 if it does not grow.
    std::uint64_t more_of(std::string_view member);

    /// Returns the value with some of its parts replaced.
    api::Json vary(const api::Json& value, const api::Json& schema, std::string_view name, int depth = 0);

    /// `schema` is an openAPIV3Schema or a part of it; `name` is the member that holds the value.
    api::Json make(const api::Json& schema, std::string_view name, int depth = 0);

    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
    bool maybe(unsigned percent) { return below(100) < percent; }
    /// Returns whether to avoid a value that is denied: nearly always among many items, since one suffices
    /// for a denial.
    bool mostly() { return longest_ > 0 ? below(20'000) > 0 : maybe(90); }

private:
    api::Json object(const api::Json& schema, int depth);
    api::Json map(const api::Json& schema, std::string_view name, int depth);
    api::Json list(const api::Json& schema, std::string_view name, int depth);
    api::Json integer(const api::Json& schema);
    api::Json text(const api::Json& schema, std::string_view name);
    api::Json quantity();
    api::Json key(std::uint64_t number, const api::Json& schema, const api::Json& value);

    std::mt19937_64 random_;
    std::set<std::string_view> grown_ = {};
    std::uint64_t longest_ = 0;  // items of a list that grows
    std::uint64_t left_ = 0;     // remaining budget
};
