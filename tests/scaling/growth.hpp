#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "api/json.hpp"

/// The keys of a long list or map in relation to those of the others, and their order.
enum class Order {
    same,         ///< the same keys everywhere, ascending
    reversed,     ///< the same keys everywhere, every second list and all of the text in reverse
    below,        ///< each list or map has keys below those of the ones before it, in descending order
    interleaved,  ///< keys of its own between those of the others, small and large ones in turns
    again,        ///< one key, that of the first item, each time with one more entry in its growing members
};
/// Orders with different keys.
constexpr Order orders[] = {Order::same, Order::reversed, Order::below, Order::interleaved};
std::string_view to_string(Order order);
/// The inverse of to_string(). Unknown words are `again`.
Order order_of(std::string_view word);

/// Returns the names of all lists and maps in a schema, at any place.
std::set<std::string> growable(const api::Json& schema);
/// Returns those of them with keyed items, or with items that are keys: the lists in which names are looked
/// up.
std::set<std::string> keyed(const api::Json& schema);

/// Makes lists and maps of some names long, wherever a schema has them. Creates missing parents: objects with
/// their required members, lists with one item, named "node" like everything in the initial objects. Added
/// items have only required members, so that the size of the result is proportional to `size`.
class Growth {
public:
    Growth(std::set<std::string> members, std::size_t size, Order order)
        : members_(std::move(members)), size_(size), order_(order) {}

    void grow(api::Json& value, const api::Json& schema, std::string_view member);
    bool reaches(const api::Json& schema, std::string_view member);
    std::size_t places() const { return places_; }

private:
    void add_again(api::Json& list, const api::Json& items, std::string_view member);
    void add_items(api::Json& list, const api::Json& schema, std::string_view member);
    void add_members(api::Json& map, const api::Json& schema, std::string_view member);
    std::size_t number(std::size_t index) const;

    std::set<std::string> members_;
    std::size_t size_;
    Order order_;
    std::size_t first_ = 0;
    std::size_t places_ = 0;  // number of grown lists and maps
    std::map<std::pair<const api::Json*, std::string>, bool> reaches_ = {};
};

/// Returns JSON with the members of objects in that order. (to_json() sorts them ascending.)
std::string text_of(const api::Json& value, Order order);
