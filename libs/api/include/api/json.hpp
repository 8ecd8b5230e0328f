#pragma once
#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "api/error.hpp"

namespace api {

class Json;

/// The members of a JSON object, unique and sorted by key, as Kubernetes writes maps: two equal trees always
/// give equal bytes. Lookup is O(log n). Moving members in and out keeps references to *other* members valid
/// only until the next insertion or erasure.
class JsonObject {
public:
    struct Member;
    using Members = std::vector<Member>;

    constexpr JsonObject() noexcept;
    /// Sorts; of members with the same key the last one stays (as Go's decoder does).
    explicit JsonObject(Members members);
    JsonObject(const JsonObject& other);
    JsonObject(JsonObject&& other) noexcept;
    JsonObject& operator=(const JsonObject& other);
    JsonObject& operator=(JsonObject&& other) noexcept;
    ~JsonObject();

    const Json* find(std::string_view key) const;
    Json* find(std::string_view key);
    /// Finds or inserts null.
    Json& operator[](std::string_view key);
    bool erase(std::string_view key);
    template <class Predicate>
    void erase_if(Predicate predicate);

    Members::const_iterator begin() const;
    Members::const_iterator end() const;
    Members::iterator begin();  ///< change values only, never keys
    Members::iterator end();
    std::size_t size() const;
    bool empty() const;

private:
    Members members_;
};

bool operator==(const JsonObject& left, const JsonObject& right);

/// A JSON value with value semantics. Reading never throws and never inserts: a missing member or a value of
/// another type reads as null, empty or nullopt, because objects from a cluster may have any shape. That goes
/// for const values; of others, items(), members() and operator[] with a key are for writing (find() is not).
/// Thread rule: as for std::vector; const access from several threads is fine.
class Json {
public:
    using Array = std::vector<Json>;
    using Object = JsonObject;

    Json() = default;
    Json(std::nullptr_t) {}
    Json(bool value) : value_(value) {}
    template <std::integral T>
    requires(!std::same_as<T, bool>) Json(T value) : value_(static_cast<std::int64_t>(value)) {}
    Json(double value) : value_(value) {}
    Json(std::string value) : value_(std::move(value)) {}
    Json(std::string_view value) : value_(std::string(value)) {}
    Json(const char* value) : value_(std::string(value)) {}
    Json(Array value) : value_(std::move(value)) {}
    Json(Object value) : value_(std::move(value)) {}

    /// {{"name", "node"}, {"image", image}}
    static Json object(std::initializer_list<std::pair<std::string_view, Json>> members = {});
    static Json array(std::initializer_list<Json> items = {});

    bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
    bool is_bool() const { return std::holds_alternative<bool>(value_); }
    bool is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
    bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
    bool is_string() const { return std::holds_alternative<std::string>(value_); }
    bool is_array() const { return std::holds_alternative<Array>(value_); }
    bool is_object() const { return std::holds_alternative<Object>(value_); }
    /// Null, "", [] or {}: what Kubernetes' encoders leave out. Zero and false are not empty.
    bool empty() const;

    bool bool_or(bool fallback) const;
    std::int64_t int_or(std::int64_t fallback) const;
    std::optional<std::int64_t> as_int() const;
    std::optional<double> as_double() const;  ///< of an integer as well
    std::string_view as_string() const;       ///< "" unless it is a string
    std::optional<std::string> string() const;

    const Array& items() const;     ///< empty unless it is an array
    const Object& members() const;  ///< empty unless it is an object
    Array& items();                 ///< null becomes an array; throws std::logic_error on other types
    Object& members();              ///< null becomes an object; throws std::logic_error on other types

    const Json& operator[](std::string_view key) const;  ///< null if there is no such member
    Json& operator[](std::string_view key);              ///< inserts; see members()
    const Json& operator[](std::size_t index) const;     ///< null beyond the end
    const Json* find(std::string_view key) const { return members().find(key); }
    Json* find(std::string_view key);  ///< nullptr also unless it is an object; never inserts
    bool contains(std::string_view key) const { return find(key) != nullptr; }
    bool erase(std::string_view key);
    void push_back(Json item) { items().push_back(std::move(item)); }

    /// Integers and doubles of the same value are equal.
    friend bool operator==(const Json& left, const Json& right);

private:
    std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
    friend class JsonWriter;
};

struct JsonObject::Member {
    std::string key;
    Json value;
    bool operator==(const Member&) const = default;
};

// Here, because a vector may only be used once its elements are a complete type.
inline constexpr JsonObject::JsonObject() noexcept = default;
inline JsonObject::JsonObject(const JsonObject& other) = default;
inline JsonObject::JsonObject(JsonObject&& other) noexcept = default;
inline JsonObject& JsonObject::operator=(const JsonObject& other) = default;
inline JsonObject& JsonObject::operator=(JsonObject&& other) noexcept = default;
inline JsonObject::~JsonObject() = default;
inline JsonObject::Members::const_iterator JsonObject::begin() const { return members_.begin(); }
inline JsonObject::Members::const_iterator JsonObject::end() const { return members_.end(); }
inline JsonObject::Members::iterator JsonObject::begin() { return members_.begin(); }
inline JsonObject::Members::iterator JsonObject::end() { return members_.end(); }
inline std::size_t JsonObject::size() const { return members_.size(); }
inline bool JsonObject::empty() const { return members_.empty(); }
template <class Predicate>
void JsonObject::erase_if(Predicate predicate) {
    std::erase_if(members_, predicate);
}

/// Nesting beyond this is refused: everything recursive over a tree stays within a small stack.
inline constexpr std::size_t max_json_depth = 256;

/// Strict JSON in valid UTF-8, nothing after the value. Duplicate keys: the last one wins. Integers beyond
/// int64 become doubles; numbers beyond a double are an error.
Result<Json> parse_json(std::string_view text);

/// Compact, keys sorted: equal trees give equal bytes.
std::string to_json(const Json& value);

std::ostream& operator<<(std::ostream& out, const Json& value);

}  // namespace api
