#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "api/json.hpp"

/// How the keys of one long list or map lie to those of the others, and in which order they come.
enum class Order {
    same,         ///< the same keys everywhere, ascending
    reversed,     ///< the same keys everywhere, each other list and all of the text the other way round
    below,        ///< each list or map has keys below those of the ones before it, in descending order
    interleaved,  ///< keys of its own between those of the others, the small and the great in turns
    again,  ///< one key, that of the first item, each time with one entry more in what grows inside of it
};
/// Those in which keys differ.
constexpr Order orders[] = {Order::same, Order::reversed, Order::below, Order::interleaved};
std::string_view to_string(Order order);

/// The names of all lists and maps that a schema knows, at whatever place.
std::set<std::string> growable(const api::Json& schema);
/// Of those the lists whose items have keys or are keys: what names are looked up in, and names themselves.
std::set<std::string> keyed(const api::Json& schema);

/// Makes lists and maps of some names long, wherever a schema has them. What leads there is made where it is
/// not: objects with what they need, lists with one item, named "node" as everything of the objects is that
/// the tests begin with. Items that are added have no more than they need, so that the outcome is as long as
/// `size` says and not its square.
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
    void add_members(api::Json& map, const api::Json& schema);
    std::size_t number(std::size_t index) const;

    std::set<std::string> members_;
    std::size_t size_;
    Order order_;
    std::size_t first_ = 0;
    std::size_t places_ = 0;  // so many have grown
    std::map<std::pair<const api::Json*, std::string>, bool> reaches_ = {};
};

/// JSON with the members of objects in such an order. (to_json() has them ascending.)
std::string text_of(const api::Json& value, Order order);
