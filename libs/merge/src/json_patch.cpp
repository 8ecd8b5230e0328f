#include "merge/json_patch.hpp"

namespace merge {

JsonPointer operator/(JsonPointer base, std::string_view member) {
    base.text_ += '/';
    for (const char c : member) {
        if (c == '~')
            base.text_ += "~0";
        else if (c == '/')
            base.text_ += "~1";
        else
            base.text_ += c;
    }
    return base;
}

JsonPointer operator/(JsonPointer base, std::size_t index) {
    base.text_ += '/' + std::to_string(index);
    return base;
}

api::Json add_operation(const JsonPointer& where, api::Json value) {
    return api::Json::object({{"op", "add"}, {"path", where.text()}, {"value", std::move(value)}});
}

api::Json remove_operation(const JsonPointer& where) {
    return api::Json::object({{"op", "remove"}, {"path", where.text()}});
}

}  // namespace merge
