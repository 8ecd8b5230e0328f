#pragma once
#include <random>
#include <set>
#include <string>

#include "api/json.hpp"

/// Makes objects that a CRD's schema admits: types, bounds, enums, required fields, list keys. (CEL rules are
/// not looked at: more is made than an API server stores.) Values are such that they meet: names of jobs and
/// containers, resources with and without GPUs, the labels of the three steps. The same seed makes the same
/// objects.
class SchemaValues {
public:
    explicit SchemaValues(std::uint64_t seed) : random_(seed) {}

    /// From now on the lists, maps and texts of these members are long: up to `items` items with keys of
    /// their own, or 20 times as many characters. In all, about `budget` values more than otherwise.
    void grow(std::set<std::string_view> members, std::uint64_t items, std::uint64_t budget);
    /// As many as a list of this member that has grown has room for; 0 for others.
    std::uint64_t more_of(std::string_view member);

    /// The same with some of its parts made anew.
    api::Json vary(const api::Json& value, const api::Json& schema, std::string_view name, int depth = 0);

    /// `schema` is an openAPIV3Schema or a part of it; `name` is the member that the value is for.
    api::Json make(const api::Json& schema, std::string_view name, int depth = 0);

    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
    bool maybe(unsigned percent) { return below(100) < percent; }
    /// Whether to avoid what is refused. Nearly always among many items: one of them is enough to be refused.
    bool mostly() { return longest_ > 0 ? below(20'000) > 0 : maybe(85); }

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
    std::uint64_t longest_ = 0;  // of what has grown
    std::uint64_t left_ = 0;     // values that may still be made for it
};
