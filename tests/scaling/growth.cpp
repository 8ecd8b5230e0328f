#include "growth.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "api/names.hpp"

namespace {

using api::Json;

// As many places as there are keys below and between those of the others.
constexpr std::size_t most_places = 64;
constexpr std::string_view first_name = "node";

bool is_list(const Json& schema) { return schema["type"].as_string() == "array"; }
bool is_map(const Json& schema) { return schema["additionalProperties"].is_object(); }
bool is_quantity(const Json& schema) { return schema["x-kubernetes-int-or-string"].bool_or(false); }

// At most one of their members is set: the test's objects decide which.
bool is_choice(std::string_view member) { return member == "mlPolicy" || member == "podGroupPolicy"; }

std::string key_of(std::size_t number) {
    std::string digits = std::to_string(number);
    return "k" + std::string(9 - std::min<std::size_t>(9, digits.size()), '0') + digits;
}

Json scalar(const Json& schema, std::string_view member, const std::string& key, std::size_t number) {
    if (const auto& choices = schema["enum"].items(); !choices.empty()) return choices[0];
    if (is_quantity(schema)) return 1;
    const std::string_view type = schema["type"].as_string();
    if (type == "integer" || type == "number") return number % 1'000'000'000 + 1;
    if (type == "boolean") return true;
    if (schema["format"].as_string() == "date-time") return "2026-01-01T00:00:00Z";
    // Only domain-prefixed paths have another form.
    return member == "manager" ? "a.io/" + key : key;
}

// Returns the smallest object that is distinct from others and can be stored.
Json least(const Json& schema, std::string_view member, const std::string& key, std::size_t number) {
    if (is_list(schema)) return Json::array();
    if (is_map(schema)) return Json::object();
    if (schema["type"].as_string() != "object") return scalar(schema, member, key, number);
    Json object = Json::object();
    const auto need = [&](std::string_view name) {
        object[name] = least(schema["properties"][name], name, key, number);
    };
    for (const Json& name : schema["required"].items()) need(name.as_string());
    for (const Json& name : schema["x-kubernetes-list-map-keys"].items()) need(name.as_string());
    if (schema["properties"].contains("name")) need("name");
    // A claim has one source, which only a CEL rule requires.
    if (schema["properties"].contains("resourceClaimTemplateName")) object["resourceClaimName"] = key;
    return object;
}

void write(const Json& value, Order order, std::string& text) {
    const auto in_order = [order](std::size_t index, std::size_t size) {
        if (order == Order::same || order == Order::again) return index;
        if (order != Order::interleaved) return size - 1 - index;
        return index % 2 == 0 ? index / 2 : size - 1 - index / 2;
    };
    if (value.is_array()) {
        text += '[';
        for (const Json& item : value.items()) {
            if (&item != &value.items().front()) text += ',';
            write(item, order, text);
        }
        text += ']';
    } else if (value.is_object()) {
        const auto& members = value.members();
        text += '{';
        for (std::size_t i = 0; i < members.size(); ++i) {
            const auto& [key, member] =
                members.begin()[static_cast<std::ptrdiff_t>(in_order(i, members.size()))];
            if (i > 0) text += ',';
            text += api::to_json(api::Json(key)) + ':';
            write(member, order, text);
        }
        text += '}';
    } else {
        text += to_json(value);
    }
}

bool is_keyed(const Json& schema) {
    const std::string_view type = schema["x-kubernetes-list-type"].as_string();
    return type == "map" || type == "set";
}

template <class Wanted>
void collect(const Json& schema, std::string_view member, const Wanted& wanted,
             std::set<std::string>& found) {
    if ((is_list(schema) || is_map(schema)) && wanted(schema)) found.emplace(member);
    if (is_list(schema)) collect(schema["items"], member, wanted, found);
    for (const auto& [name, property] : schema["properties"].members())
        collect(property, name, wanted, found);
}

}  // namespace

std::string_view to_string(Order order) {
    constexpr std::array<std::string_view, 5> words = {"same", "reversed", "below", "interleaved", "again"};
    return words[static_cast<std::size_t>(order)];
}

Order order_of(std::string_view word) {
    for (const Order order : orders)
        if (to_string(order) == word) return order;
    return Order::again;
}

std::set<std::string> growable(const Json& schema) {
    std::set<std::string> found;
    collect(
        schema, {}, [](const Json&) { return true; }, found);
    return found;
}

std::set<std::string> keyed(const Json& schema) {
    std::set<std::string> found;
    collect(schema, {}, is_keyed, found);
    return found;
}

bool Growth::reaches(const Json& schema, std::string_view member) {
    const auto [at, is_new] = reaches_.try_emplace({&schema, std::string(member)}, false);
    if (!is_new) return at->second;
    bool found = (is_list(schema) || is_map(schema)) && members_.contains(std::string(member));
    if (is_list(schema)) found = reaches(schema["items"], member) || found;
    for (const auto& [name, property] : schema["properties"].members())
        found = reaches(property, name) || found;
    return reaches_[{&schema, std::string(member)}] = found;
}

// From the inside out, so that added items have no content.
void Growth::grow(Json& value, const Json& schema, std::string_view member) {
    for (const auto& [name, property] : schema["properties"].members()) {
        if (!reaches(property, name) || (is_choice(member) && !value.contains(name))) continue;
        Json& inner = value[name];
        if (inner.is_null()) inner = least(property, name, std::string(first_name), 0);
        grow(inner, property, name);
    }
    if (is_list(schema)) {
        const Json& items = schema["items"];
        if (reaches(items, member) && items["type"].as_string() == "object") {
            if (value.empty()) value.push_back(least(items, member, std::string(first_name), 0));
            for (Json& item : value.items()) grow(item, items, member);
        }
        if (members_.contains(std::string(member))) add_items(value, schema, member);
    } else if (is_map(schema) && members_.contains(std::string(member))) {
        add_members(value, schema, member);
    }
}

std::size_t Growth::number(std::size_t index) const {
    const std::size_t place = places_ % most_places;
    if (order_ == Order::below) return (most_places - place) * size_ + index;
    if (order_ == Order::interleaved) return index * most_places + place;
    return first_ + index;
}

void Growth::add_again(Json& list, const Json& items, std::string_view member) {
    std::set<std::string> others = members_;
    others.erase(std::string(member));
    for (std::size_t i = 0; i < size_; ++i) {
        Json item = least(items, member, std::string(first_name), 0);
        Growth one_more(others, 1, Order::same);
        one_more.first_ = size_ + i;
        if (items["type"].as_string() == "object") one_more.grow(item, items, {});
        list.push_back(std::move(item));
    }
    ++places_;
}

void Growth::add_items(Json& list, const Json& schema, std::string_view member) {
    if (order_ == Order::again && is_keyed(schema)) return add_again(list, schema["items"], member);
    const bool backwards = order_ == Order::below || (order_ == Order::reversed && places_ % 2 == 1);
    for (std::size_t i = 0; i < size_; ++i) {
        std::size_t index = backwards ? size_ - 1 - i : i;
        if (order_ == Order::interleaved) index = i % 2 == 0 ? i / 2 : size_ - 1 - i / 2;
        Json item = least(schema["items"], member, key_of(number(index)), number(index));
        for (const Json& name : schema["x-kubernetes-list-map-keys"].items()) {
            const Json& property = schema["items"]["properties"][name.as_string()];
            if (!item.contains(name.as_string()))
                item[name.as_string()] =
                    least(property, name.as_string(), key_of(number(index)), number(index));
        }
        list.push_back(std::move(item));
    }
    ++places_;
}

void Growth::add_members(Json& map, const Json& schema, std::string_view member) {
    const Json& values = schema["additionalProperties"];
    Json::Object::Members members;
    for (auto& [key, value] : map.members()) members.push_back({key, std::move(value)});
    for (std::size_t i = 0; i < size_; ++i) {
        // Resources count as devices, and labels may have a domain. In this one a request needs no limit.
        const std::string key =
            (member == "requests" ? "x.kubernetes.io/gpu-" : "x.io/gpu-") + key_of(number(i));
        members.push_back({key, is_quantity(values) ? Json(1) : Json("x")});
    }
    map = Json::Object(std::move(members));
    ++places_;
}

std::string text_of(const Json& value, Order order) {
    std::string text;
    write(value, order, text);
    return text;
}
