#include "api/json.hpp"

#include <cmath>
#include <iterator>
#include <limits>
#include <ostream>
#include <stdexcept>

namespace api {
namespace {

constinit const Json null_json;
constinit const Json::Array no_items;
constinit const Json::Object no_members;

bool key_less(const JsonObject::Member& left, const JsonObject::Member& right) {
    // Most keys differ in their first byte. That of an empty one is zero.
    const auto first = static_cast<unsigned char>(*left.key.c_str());
    const auto other = static_cast<unsigned char>(*right.key.c_str());
    return first != other ? first < other : left.key < right.key;
}

// As ==. A call of memcmp() costs more than comparing a name, and names are nearly all that is compared.
bool is_key(std::string_view key, std::string_view wanted) {
    constexpr std::size_t two_words = 16;
    const std::size_t size = wanted.size();
    if (key.size() != size) return false;
    const auto has_same = [&]<class Word>(Word, std::size_t at) {
        Word left = 0, right = 0;
        std::memcpy(&left, key.data() + at, sizeof left);
        std::memcpy(&right, wanted.data() + at, sizeof right);
        return left == right;
    };
    // The first and the last word may overlap.
    const auto has_same_ends = [&](auto word) {
        return has_same(word, 0) && has_same(word, size - sizeof word);
    };
    if (size > two_words) return key == wanted;
    if (size >= sizeof(std::uint64_t)) return has_same_ends(std::uint64_t());
    if (size >= sizeof(std::uint32_t)) return has_same_ends(std::uint32_t());
    return std::equal(key.begin(), key.end(), wanted.begin());
}

bool below_key(const JsonObject::Member& member, std::string_view key) { return member.key.compare(key) < 0; }

auto lower_bound(auto& members, std::string_view key) {
    return std::lower_bound(members.begin(), members.end(), key, below_key);
}

// As std::stable_sort(), which allocates a buffer even for the two members of a watch event.
void sort(JsonObject::Members& members) {
    constexpr std::size_t few = 16;
    if (members.size() > few) return std::stable_sort(members.begin(), members.end(), key_less);
    for (auto at = members.begin(); at != members.end(); ++at) {
        const auto place = std::upper_bound(members.begin(), at, *at, key_less);
        if (place == at) continue;
        JsonObject::Member member = std::move(*at);
        std::move_backward(place, at, at + 1);
        *place = std::move(member);
    }
}

// Exact: a double near 2^63 equals one integer, not all that round to it.
bool is_same(double number, std::int64_t integer) {
    return number >= -0x1p63 && number < 0x1p63 && std::trunc(number) == number &&
           static_cast<std::int64_t>(number) == integer;
}

int rank_of(const Json& value) {
    return value.is_null()     ? 0
           : value.is_bool()   ? 1
           : value.is_number() ? 2
           : value.is_string() ? 3
           : value.is_array()  ? 4
                               : 5;
}

std::weak_ordering by_value(const Json& left, const Json& right) {
    if (left.is_integer() && right.is_integer()) return *left.as_int() <=> *right.as_int();
    // The mantissa of a long double has room for every integer, too. JSON has no NaN.
    static_assert(std::numeric_limits<long double>::digits >= 63);
    const auto exact = [](const Json& number) {
        return number.is_integer() ? static_cast<long double>(*number.as_int())
                                   : static_cast<long double>(*number.as_double());
    };
    const long double a = exact(left), b = exact(right);
    return a < b   ? std::weak_ordering::less
           : b < a ? std::weak_ordering::greater
                   : std::weak_ordering::equivalent;
}

}  // namespace

JsonObject::JsonObject(Members members) : members_(std::move(members)) {
    // Kubernetes writes maps sorted, so this is the usual case.
    const auto not_less = [](const Member& a, const Member& b) { return !key_less(a, b); };
    if (std::adjacent_find(members_.begin(), members_.end(), not_less) == members_.end()) return;
    sort(members_);
    // Keeps the last of equal keys: walks backwards, where the first one seen is the last one given.
    const auto kept = std::unique(members_.rbegin(), members_.rend(),
                                  [](const Member& a, const Member& b) { return a.key == b.key; });
    members_.erase(members_.begin(), kept.base());
}

const Json* JsonObject::find(std::string_view key) const {
    // Most objects are small, and comparing lengths first is quicker than comparing text by halves.
    constexpr std::size_t small = 8;
    if (members_.size() <= small) {
        for (const Member& member : members_)
            if (is_key(member.key, key)) return &member.value;
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

Json& JsonMerger::operator[](std::string_view key) {
    JsonObject::Members& members = object_.members_;
    const bool goes_back =
        (at_ > 0 && members[at_ - 1].key >= key) || (!added_.empty() && added_.back().key > key);
    if (goes_back) settle();
    const auto rest = members.begin() + static_cast<std::ptrdiff_t>(at_);
    const auto found = std::lower_bound(rest, members.end(), key, below_key);
    at_ = static_cast<std::size_t>(found - members.begin());
    if (found != members.end() && found->key == key) return found->value;
    if (added_.empty() || added_.back().key != key) added_.push_back({std::string(key), Json()});
    return added_.back().value;
}

void JsonMerger::settle() {
    JsonObject::Members& members = object_.members_;
    const auto size = static_cast<std::ptrdiff_t>(members.size());
    members.insert(members.end(), std::make_move_iterator(added_.begin()),
                   std::make_move_iterator(added_.end()));
    std::inplace_merge(members.begin(), members.begin() + size, members.end(), key_less);
    added_.clear();
    at_ = 0;
}

Json Json::object(std::initializer_list<Given> members) {
    // Pointers are faster to sort than members.
    std::vector<const Given*> sorted;
    sorted.reserve(members.size());
    for (const Given& given : members) sorted.push_back(&given);
    std::sort(sorted.begin(), sorted.end(), [](const Given* left, const Given* right) {
        const int order = left->key.compare(right->key);
        return order < 0 || (order == 0 && left < right);
    });
    Object::Members list;
    list.reserve(members.size());
    for (const Given* given : sorted) list.push_back({std::string(given->key), std::move(given->value)});
    return Object(std::move(list));
}

Json Json::array(std::initializer_list<Json> items) { return Array(items); }

Json::Json(std::string_view value) {
    if (value.size() <= longest_short_text) {
        kind_ = Kind::short_text;
        short_text_size_ = static_cast<std::uint8_t>(value.size());
        if (!value.empty()) std::memcpy(bytes_, value.data(), value.size());
        return;
    }
    make<LongText>({new char[value.size()], value.size()});
    std::memcpy(as<LongText>().data, value.data(), value.size());
    kind_ = Kind::long_text;
}

Json::Json(const Json& other) {
    switch (other.kind_) {
        case Kind::long_text: *this = Json(other.as_string()); return;
        case Kind::array: make<Array>(other.as<Array>()); break;
        case Kind::object: make<Object>(other.as<Object>()); break;
        default: std::memcpy(bytes_, other.bytes_, sizeof bytes_);
    }
    short_text_size_ = other.short_text_size_;
    kind_ = other.kind_;
}

void Json::release() noexcept {
    switch (kind_) {
        case Kind::long_text: delete[] as<LongText>().data; break;
        case Kind::array: std::destroy_at(&as<Array>()); break;
        case Kind::object: std::destroy_at(&as<Object>()); break;
        default: break;
    }
    kind_ = Kind::null;
}

bool Json::empty() const {
    if (is_string()) return as_string().empty();
    return is_null() || (is_array() && items().empty()) || (is_object() && members().empty());
}

bool Json::bool_or(bool fallback) const { return is_bool() ? as<bool>() : fallback; }

std::int64_t Json::int_or(std::int64_t fallback) const {
    return is_integer() ? as<std::int64_t>() : fallback;
}

std::optional<std::int64_t> Json::as_int() const {
    return is_integer() ? std::optional(as<std::int64_t>()) : std::nullopt;
}

std::optional<double> Json::as_double() const {
    if (is_integer()) return static_cast<double>(as<std::int64_t>());
    return kind_ == Kind::real ? std::optional(as<double>()) : std::nullopt;
}

std::string_view Json::as_string() const {
    if (kind_ == Kind::short_text) return {bytes_, short_text_size_};
    return kind_ == Kind::long_text ? std::string_view(as<LongText>().data, as<LongText>().size)
                                    : std::string_view();
}

std::optional<std::string> Json::string() const {
    return is_string() ? std::optional(std::string(as_string())) : std::nullopt;
}

const Json::Array& Json::items() const { return is_array() ? as<Array>() : no_items; }

const Json::Object& Json::members() const { return is_object() ? as<Object>() : no_members; }

Json::Array& Json::items() {
    if (is_null()) *this = Json(Array());
    if (is_array()) return as<Array>();
    throw std::logic_error("JSON value is not an array: " + to_json(*this).substr(0, 100));
}

Json::Object& Json::members() {
    if (is_null()) *this = Json(Object());
    if (is_object()) return as<Object>();
    throw std::logic_error("JSON value is not an object: " + to_json(*this).substr(0, 100));
}

const Json& Json::operator[](std::string_view key) const {
    const Json* value = is_object() ? as<Object>().find(key) : nullptr;
    return value ? *value : null_json;
}

Json& Json::operator[](std::string_view key) { return members()[key]; }

const Json& Json::operator[](std::size_t index) const {
    return index < items().size() ? items()[index] : null_json;
}

Json* Json::find(std::string_view key) { return is_object() ? as<Object>().find(key) : nullptr; }

bool Json::erase(std::string_view key) { return is_object() && as<Object>().erase(key); }

bool operator==(const Json& left, const Json& right) {
    if (left.is_number() && right.is_number()) {
        if (left.is_integer() && right.is_integer()) return left.as_int() == right.as_int();
        if (left.is_integer()) return is_same(*right.as_double(), *left.as_int());
        if (right.is_integer()) return is_same(*left.as_double(), *right.as_int());
        return left.as_double() == right.as_double();
    }
    if (left.is_string() && right.is_string()) return left.as_string() == right.as_string();
    if (left.kind_ != right.kind_) return false;
    switch (left.kind_) {
        case Json::Kind::boolean: return left.bool_or(false) == right.bool_or(false);
        case Json::Kind::array: return left.items() == right.items();
        case Json::Kind::object: return left.members() == right.members();
        default: return true;
    }
}

std::weak_ordering operator<=>(const Json& left, const Json& right) {
    if (const auto order = rank_of(left) <=> rank_of(right); order != 0) return order;
    if (left.is_string()) return left.as_string() <=> right.as_string();
    if (left.is_number()) return by_value(left, right);
    if (left.is_bool()) return left.bool_or(false) <=> right.bool_or(false);
    const auto compare = [](const auto& a, const auto& b, const auto& each) {
        return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end(), each);
    };
    if (left.is_array())
        return compare(left.items(), right.items(), [](const Json& a, const Json& b) { return a <=> b; });
    return compare(left.members(), right.members(),
                   [](const JsonObject::Member& a, const JsonObject::Member& b) {
                       const std::weak_ordering keys = a.key <=> b.key;
                       return keys != 0 ? keys : a.value <=> b.value;
                   });
}

std::ostream& operator<<(std::ostream& out, const Json& value) { return out << to_json(value); }

}  // namespace api
