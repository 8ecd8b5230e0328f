#include "cel.hpp"

#include <algorithm>
#include <stdexcept>

#include "cel_parts.hpp"

namespace crd::cel {
namespace {

using api::Json;
using NodePtr = std::shared_ptr<const Node>;

// A node whose value is a function of the names.
template <class Evaluate>
class NodeOf final : public Node {
public:
    explicit NodeOf(Evaluate evaluate) : evaluate_(std::move(evaluate)) {}
    Value value(const Names& names) const override { return evaluate_(names); }

private:
    Evaluate evaluate_;
};

template <class Evaluate>
NodePtr node(Evaluate evaluate) {
    return std::make_shared<NodeOf<Evaluate>>(std::move(evaluate));
}

bool is_bool(const Value& value) { return json(value) && json(value)->is_bool(); }
bool is_true(const Value& value) { return json(value) && json(value)->bool_or(false); }

// && and ||: one side may decide the result, even if the other is an error.
NodePtr logical(NodePtr left, NodePtr right, bool settling) {
    return node([=](const Names& names) -> Value {
        const Value first = left->value(names);
        if (is_bool(first) && is_true(first) == settling) return first;
        const Value second = right->value(names);
        if (is_bool(second) && is_true(second) == settling) return second;
        if (!is_bool(first)) return json(first) ? error("no such overload: && or ||") : first;
        return is_bool(second) || !json(second) ? second : error("no such overload: && or ||");
    });
}

// list.all(x, predicate) and the other macros. A map is iterated by its keys.
NodePtr macro(std::string_view name, NodePtr list, std::string variable, NodePtr body) {
    return node([=, name = std::string(name)](const Names& names) -> Value {
        const Value container = list->value(names);
        if (!json(container)) return container;
        Json::Array items = json(container)->items();
        for (const auto& [key, value] : json(container)->members()) items.emplace_back(key);
        Json kept = Json::array();
        Value open = truth(name == "all");
        Names inner = names;
        for (Json& item : items) {
            inner[variable] = item;
            Value result = body->value(inner);
            if (name == "map") {
                if (!json(result)) return result;
                kept.push_back(std::move(std::get<Json>(result)));
            } else if (name == "filter") {
                if (!is_bool(result)) return result;
                if (is_true(result)) kept.push_back(std::move(item));
            } else if (!is_bool(result)) {
                open = std::move(result);  // the result, unless another item decides it
            } else if (is_true(result) == (name == "exists")) {
                return result;
            }
        }
        if (name == "map" || name == "filter") return kept;
        return open;
    });
}

constexpr std::string_view macros[] = {"all", "exists", "filter", "map"};
constexpr std::string_view types[] = {"int", "double", "string", "bool", "list", "map"};
// In ascending order of precedence.
const std::vector<std::vector<std::string_view>> levels = {
    {"||"}, {"&&"}, {"==", "!=", "<", "<=", ">", ">=", "in"}, {"+", "-"}};

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text), tokens_(tokens_of(text)) {}

    NodePtr parse() {
        NodePtr root = ternary();
        if (now().kind != Token::Kind::end) fail();
        return root;
    }

private:
    const Token& now() const { return tokens_[at_]; }
    bool is(std::string_view text) const { return now().kind != Token::Kind::literal && now().text == text; }
    bool take(std::string_view text) {
        if (!is(text)) return false;
        ++at_;
        return true;
    }
    void expect(std::string_view text) {
        if (!take(text)) fail();
    }
    std::string name() {
        if (now().kind != Token::Kind::name) fail();
        return tokens_[at_++].text;
    }
    [[noreturn]] void fail() const {
        throw std::invalid_argument("cannot read CEL at token " + std::to_string(at_ + 1) + " of: " + text_);
    }

    NodePtr ternary() {
        NodePtr condition = operators(0);
        if (!take("?")) return condition;
        NodePtr yes = ternary();
        expect(":");
        NodePtr no = ternary();
        return node([=](const Names& names) -> Value {
            const Value chosen = condition->value(names);
            if (!is_bool(chosen)) return json(chosen) ? error("no such overload: ?:") : chosen;
            return (is_true(chosen) ? yes : no)->value(names);
        });
    }

    NodePtr operators(std::size_t level) {
        if (level == levels.size()) return unary();
        NodePtr left = operators(level + 1);
        for (;;) {
            const auto& signs = levels[level];
            const auto sign = std::find_if(signs.begin(), signs.end(), [&](auto each) { return is(each); });
            if (sign == signs.end()) return left;
            ++at_;
            NodePtr right = operators(level + 1);
            if (level < 2)
                left = logical(left, right, *sign == "||");
            else
                left = node([=, sign = *sign](const Names& names) {
                    return binary(sign, left->value(names), right->value(names));
                });
        }
    }

    NodePtr unary() {
        for (const std::string_view sign : {"!", "-"}) {
            if (!take(sign)) continue;
            NodePtr of = unary();
            return node([=](const Names& names) { return negated(sign, of->value(names)); });
        }
        return members(primary());
    }

    NodePtr members(NodePtr of) {
        for (;;) {
            if (take(".")) {
                const std::string called = name();
                of = take("(") ? method(of, called) : member_of(of, called);
            } else if (take("[")) {
                NodePtr index = ternary();
                expect("]");
                of = node([=](const Names& names) { return member(of->value(names), index->value(names)); });
            } else {
                return of;
            }
        }
    }

    static NodePtr member_of(NodePtr of, const std::string& called) {
        return node([=](const Names& names) { return member(of->value(names), Value(Json(called))); });
    }

    // Called after the opening parenthesis.
    NodePtr method(NodePtr of, const std::string& called) {
        if (std::find(std::begin(macros), std::end(macros), called) == std::end(macros)) {
            std::vector<NodePtr> arguments = rest_of_arguments();
            arguments.insert(arguments.begin(), std::move(of));
            return call(called, std::move(arguments));
        }
        std::string variable = name();
        expect(",");
        NodePtr body = ternary();
        expect(")");
        return macro(called, std::move(of), std::move(variable), std::move(body));
    }

    std::vector<NodePtr> rest_of_arguments() {
        std::vector<NodePtr> arguments;
        if (take(")")) return arguments;
        do arguments.push_back(ternary());
        while (take(","));
        expect(")");
        return arguments;
    }

    static NodePtr call(const std::string& called, std::vector<NodePtr> arguments) {
        return node([arguments, run = function(called, arguments.size())](const Names& names) {
            std::vector<Value> values;
            for (const NodePtr& argument : arguments) values.push_back(argument->value(names));
            return run(values);
        });
    }

    // Returns whether the last member of a path exists; all members before must exist.
    NodePtr has() {
        expect("(");
        NodePtr of = primary();
        std::string last;
        while (take(".")) {
            if (!last.empty()) of = member_of(of, last);
            last = name();
        }
        if (last.empty()) fail();
        expect(")");
        return node([=](const Names& names) -> Value {
            const Value container = of->value(names);
            return json(container) ? truth(json(container)->contains(last)) : container;
        });
    }

    NodePtr primary() {
        if (now().kind == Token::Kind::literal) {
            const Json literal = tokens_[at_++].literal;
            return node([=](const Names&) -> Value { return literal; });
        }
        if (take("(")) {
            NodePtr inner = ternary();
            expect(")");
            return inner;
        }
        if (take("[")) return list();
        const std::string called = name();
        if (called == "has") return has();
        if (take("(")) return call(called, rest_of_arguments());
        if (called == "true" || called == "false")
            return node([=](const Names&) { return truth(called == "true"); });
        if (std::find(std::begin(types), std::end(types), called) != std::end(types))
            return node([=](const Names&) -> Value { return TypeName{called}; });
        return node([=](const Names& names) -> Value {
            const auto found = names.find(called);
            return found == names.end() ? error("undeclared reference to " + called) : Value(found->second);
        });
    }

    // Called after the opening bracket.
    NodePtr list() {
        std::vector<NodePtr> items;
        if (!take("]")) {
            do items.push_back(ternary());
            while (take(","));
            expect("]");
        }
        return node([=](const Names& names) -> Value {
            Json values = Json::array();
            for (const NodePtr& item : items) {
                Value value = item->value(names);
                if (!json(value)) return value;
                values.push_back(std::move(std::get<Json>(value)));
            }
            return values;
        });
    }

    std::string text_;
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
};

}  // namespace

Expression::Expression(std::string_view text) : text_(text), root_(Parser(text).parse()) {}

bool Expression::mentions(std::string_view name) const {
    const auto tokens = tokens_of(text_);
    return std::any_of(tokens.begin(), tokens.end(), [&](const Token& token) {
        return token.kind == Token::Kind::name && token.text == name;
    });
}

}  // namespace crd::cel
