#pragma once
#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/error.hpp"

namespace api {

class Json;

/// The members of a JSON object, unique and sorted by key, as Kubernetes writes maps: equal trees give equal
/// bytes. Lookup is O(log n). Moving members in and out keeps references to *other* members valid only until
/// the next insertion or erasure. One insertion or erasure is O(n). Use the constructor, JsonMerger and
/// erase_if() for many members.
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
    /// Finds the member, or inserts null.
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
    friend class JsonMerger;

    Members members_;
};

bool operator==(const JsonObject& left, const JsonObject& right);

/// A JSON value with value semantics. Reading never throws and never inserts: a missing member or a value of
/// another type reads as null, empty or nullopt, because objects from a cluster may have any shape. This
/// holds for const values. On others, items(), members() and operator[] with a key are for writing (find() is
/// not). Thread rule: as for std::vector; const access from several threads is safe.
class Json {
public:
    using Array = std::vector<Json>;
    using Object = JsonObject;
    struct Given;

    constexpr Json() = default;
    Json(std::nullptr_t) {}
    Json(bool value) : kind_(Kind::boolean) { make<bool>(value); }
    template <std::integral T>
    requires(!std::same_as<T, bool>) Json(T value) : kind_(Kind::integer) {
        make<std::int64_t>(static_cast<std::int64_t>(value));
    }
    Json(double value) : kind_(Kind::real) { make<double>(value); }
    Json(std::string_view value);
    Json(const std::string& value) : Json(std::string_view(value)) {}
    Json(const char* value) : Json(std::string_view(value)) {}
    Json(Array value) : kind_(Kind::array) { make<Array>(std::move(value)); }
    Json(Object value) : kind_(Kind::object) { make<Object>(std::move(value)); }
    Json(const Json& other);
    Json(Json&& other) noexcept { take(other); }  ///< leaves null
    Json& operator=(const Json& other) { return *this = Json(other); }
    Json& operator=(Json&& other) noexcept;
    ~Json() {
        if (kind_ >= Kind::long_text) release();
    }

    /// {{"name", "node"}, {"image", image}}
    static Json object(std::initializer_list<Given> members);
    static Json object() { return Object(); }
    static Json array(std::initializer_list<Json> items = {});

    bool is_null() const { return kind_ == Kind::null; }
    bool is_bool() const { return kind_ == Kind::boolean; }
    bool is_integer() const { return kind_ == Kind::integer; }
    bool is_number() const { return is_integer() || kind_ == Kind::real; }
    bool is_string() const { return kind_ == Kind::short_text || kind_ == Kind::long_text; }
    bool is_array() const { return kind_ == Kind::array; }
    bool is_object() const { return kind_ == Kind::object; }
    /// Returns whether it is null, "", [] or {}, which Kubernetes' encoders omit. Zero and false are not
    /// empty.
    bool empty() const;

    bool bool_or(bool fallback) const;
    std::int64_t int_or(std::int64_t fallback) const;
    std::optional<std::int64_t> as_int() const;
    std::optional<double> as_double() const;  ///< also of an integer
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
    Json* find(std::string_view key);  ///< nullptr if it is absent or this is no object; never inserts
    bool contains(std::string_view key) const { return find(key) != nullptr; }
    bool erase(std::string_view key);
    void push_back(Json item) { items().push_back(std::move(item)); }

    /// Compares by value: integers and doubles of the same value are equal.
    friend bool operator==(const Json& left, const Json& right);
    /// A total order that is consistent with ==, for sorting and indexes: null, booleans, numbers, texts,
    /// lists and objects by their items and members.
    friend std::weak_ordering operator<=>(const Json& left, const Json& right);

private:
    friend class JsonWriter;

    enum class Kind : std::uint8_t { null, boolean, integer, real, short_text, long_text, array, object };
    // Nearly all texts of Kubernetes objects fit: names, times, API versions, reasons.
    static constexpr std::size_t longest_short_text = 30;
    struct LongText {
        char* data = nullptr;
        std::size_t size = 0;
    };

    template <class T>
    void make(T from) {
        static_assert(sizeof(T) <= sizeof(bytes_));
        ::new (bytes_) T(std::move(from));
    }
    template <class T>
    T& as() {
        return *std::launder(reinterpret_cast<T*>(bytes_));
    }
    template <class T>
    const T& as() const {
        return *std::launder(reinterpret_cast<const T*>(bytes_));
    }
    void take(Json& other) noexcept;
    void release() noexcept;

    // A union by hand, since std::variant moves and destroys by a call through a table, and trees are mostly
    // moved and destroyed.
    alignas(std::max_align_t) char bytes_[longest_short_text] = {};
    std::uint8_t short_text_size_ = 0;
    Kind kind_ = Kind::null;
};

/// A member of a braced list from which the value is moved. The items of such a list are const, so deep lists
/// would otherwise be copied once per level.
struct Json::Given {
    std::string_view key;
    mutable Json value;
};

struct JsonObject::Member {
    std::string key;
    Json value;
    bool operator==(const Member&) const = default;
};

/// Finds or inserts the members of an object for many keys. It takes O(n) for all of them if the keys ascend,
/// as those of another object do; other orders are valid, but may take O(n) per key. The object must not be
/// used in the meantime. New members are in it after the destruction of the merger.
class JsonMerger {
public:
    explicit JsonMerger(JsonObject& object) : object_(object) {}
    ~JsonMerger() { settle(); }
    JsonMerger(const JsonMerger&) = delete;
    JsonMerger& operator=(const JsonMerger&) = delete;

    /// Returns the member, null if it is new. Valid until the next call.
    Json& operator[](std::string_view key);

private:
    void settle();

    JsonObject& object_;
    JsonObject::Members added_ = {};  // sorted, none of them in the object
    std::size_t at_ = 0;              // in the object: keys below this position are done
};

// Defined here, because a vector may only be used once its elements are a complete type.
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

inline void Json::take(Json& other) noexcept {
    kind_ = other.kind_;
    short_text_size_ = other.short_text_size_;
    if (kind_ == Kind::array) {
        make<Array>(std::move(other.as<Array>()));
        std::destroy_at(&other.as<Array>());
    } else if (kind_ == Kind::object) {
        make<Object>(std::move(other.as<Object>()));
        std::destroy_at(&other.as<Object>());
    } else {
        std::memcpy(bytes_, other.bytes_, sizeof bytes_);
    }
    other.kind_ = Kind::null;
}
// The moved value may be a part of the replaced one.
inline Json& Json::operator=(Json&& other) noexcept {
    Json taken(std::move(other));
    if (kind_ >= Kind::long_text) release();
    take(taken);
    return *this;
}

/// The maximum nesting. It keeps recursive functions over trees within a small stack.
inline constexpr std::size_t max_json_depth = 256;

/// Parses strict JSON in valid UTF-8 without text after the value. Of duplicate keys the last one counts.
/// Integers beyond int64 become doubles; numbers beyond a double are an error.
Result<Json> parse_json(std::string_view text);

/// The names of the members from the root to one member, with `[]` for each item of a list. At least one.
using JsonPath = std::span<const std::string_view>;
using JsonPaths = std::span<const JsonPath>;

/// Parses as parse_json(), without the members at these paths. Their text has to be valid too, but is not
/// stored.
Result<Json> parse_json_without(std::string_view text, JsonPaths omit);

/// Returns the string at that path; "" if there is none. Reads no further, so the text after it may be
/// invalid.
std::string find_string(std::string_view text, JsonPath path);

/// Returns an upper bound of the number of values in a JSON text (a member counts twice): each follows one of
/// ,:[{ or is the first.
std::size_t count_values(std::string_view json);
/// Returns the same bound for a tree.
std::size_t count_tree_values(const Json& value);

/// Writes compact JSON with sorted keys: equal trees give equal bytes.
std::string to_json(const Json& value);

std::ostream& operator<<(std::ostream& out, const Json& value);

}  // namespace api
