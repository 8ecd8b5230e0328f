#include "api/json.hpp"

#include <cmath>
#include <ostream>
#include <stdexcept>

namespace api {
namespace {

constinit const Json null_json;
constinit const Json::Array no_items;
constinit const Json::Object no_members;

bool key_less(const JsonObject::Member& left, const JsonObject::Member& right) {
    return left.key < right.key;
}

auto lower_bound(auto& members, std::string_view key) {
    return std::lower_bound(
        members.begin(), members.end(), key,
        [](const JsonObject::Member& m, std::string_view k) { return m.key.compare(k) < 0; });
}

// Exact: a double near 2^63 equals one integer, not all that round to it.
bool is_same(double number, std::int64_t integer) {
    return number >= -0x1p63 && number < 0x1p63 && std::trunc(number) == number &&
           static_cast<std::int64_t>(number) == integer;
}

}  // namespace

JsonObject::JsonObject(Members members) : members_(std::move(members)) {
    // Kubernetes writes maps sorted: mostly there is nothing to do.
    const auto not_less = [](const Member& a, const Member& b) { return !key_less(a, b); };
    if (std::adjacent_find(members_.begin(), members_.end(), not_less) == members_.end()) return;
    std::stable_sort(members_.begin(), members_.end(), key_less);
    // Keep the last of equal keys: walk backwards, where "first seen" is "last given".
    const auto kept = std::unique(members_.rbegin(), members_.rend(),
                                  [](const Member& a, const Member& b) { return a.key == b.key; });
    members_.erase(members_.begin(), kept.base());
}

const Json* JsonObject::find(std::string_view key) const {
    // Most objects are small, and comparing lengths first is quicker than comparing text by halves.
    constexpr std::size_t small = 8;
    if (members_.size() <= small) {
        for (const Member& member : members_)
            if (member.key == key) return &member.value;
        return nullptr;
    }
    const auto at = lower_bound(members_, key);
    return at != members_.end() && at->key == key ? &at->value : nullptr;
}

Json* JsonObject::find(std::string_view key) { return const_cast<Json*>(std::as_const(*this).find(key)); }

Json& JsonObject::operator[](std::string_view key) {
    auto at = lower_bound(members_, key);
    if (at == members_.end() || at->key != key) at = members_.insert(at, {std::string(key), Json()});
    return at->value;
}

bool JsonObject::erase(std::string_view key) {
    const auto at = lower_bound(members_, key);
    if (at == members_.end() || at->key != key) return false;
    members_.erase(at);
    return true;
}

bool operator==(const JsonObject& left, const JsonObject& right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

Json Json::object(std::initializer_list<std::pair<std::string_view, Json>> members) {
    Object::Members list;
    list.reserve(members.size());
    for (const auto& [key, value] : members) list.push_back({std::string(key), value});
    return Object(std::move(list));
}

Json Json::array(std::initializer_list<Json> items) { return Array(items); }

bool Json::empty() const {
    if (const auto* text = std::get_if<std::string>(&value_)) return text->empty();
    if (const auto* list = std::get_if<Array>(&value_)) return list->empty();
    if (const auto* map = std::get_if<Object>(&value_)) return map->empty();
    return is_null();
}

bool Json::bool_or(bool fallback) const {
    const auto* value = std::get_if<bool>(&value_);
    return value ? *value : fallback;
}

std::int64_t Json::int_or(std::int64_t fallback) const { return as_int().value_or(fallback); }

std::optional<std::int64_t> Json::as_int() const {
    const auto* value = std::get_if<std::int64_t>(&value_);
    return value ? std::optional(*value) : std::nullopt;
}

std::optional<double> Json::as_double() const {
    if (const auto* value = std::get_if<double>(&value_)) return *value;
    if (const auto* value = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*value);
    return std::nullopt;
}

std::string_view Json::as_string() const {
    const auto* value = std::get_if<std::string>(&value_);
    return value ? std::string_view(*value) : std::string_view();
}

std::optional<std::string> Json::string() const {
    const auto* value = std::get_if<std::string>(&value_);
    return value ? std::optional(*value) : std::nullopt;
}

const Json::Array& Json::items() const {
    const auto* list = std::get_if<Array>(&value_);
    return list ? *list : no_items;
}

const Json::Object& Json::members() const {
    const auto* map = std::get_if<Object>(&value_);
    return map ? *map : no_members;
}

Json::Array& Json::items() {
    if (is_null()) value_ = Array();
    if (auto* list = std::get_if<Array>(&value_)) return *list;
    throw std::logic_error("JSON value is not an array: " + to_json(*this).substr(0, 100));
}

Json::Object& Json::members() {
    if (is_null()) value_ = Object();
    if (auto* map = std::get_if<Object>(&value_)) return *map;
    throw std::logic_error("JSON value is not an object: " + to_json(*this).substr(0, 100));
}

const Json& Json::operator[](std::string_view key) const {
    const Json* value = find(key);
    return value ? *value : null_json;
}

Json& Json::operator[](std::string_view key) { return members()[key]; }

const Json& Json::operator[](std::size_t index) const {
    return index < items().size() ? items()[index] : null_json;
}

Json* Json::find(std::string_view key) {
    auto* map = std::get_if<Object>(&value_);
    return map ? map->find(key) : nullptr;
}

bool Json::erase(std::string_view key) {
    auto* map = std::get_if<Object>(&value_);
    return map && map->erase(key);
}

bool operator==(const Json& left, const Json& right) {
    if (left.is_integer() && std::holds_alternative<double>(right.value_))
        return is_same(std::get<double>(right.value_), std::get<std::int64_t>(left.value_));
    if (right.is_integer() && std::holds_alternative<double>(left.value_)) return right == left;
    return left.value_ == right.value_;
}

std::ostream& operator<<(std::ostream& out, const Json& value) { return out << to_json(value); }

}  // namespace api
