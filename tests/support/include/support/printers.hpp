#pragma once
// How Catch prints our types in a failed check. Include after <catch2/catch.hpp>.
#include <catch2/catch.hpp>
#include <sstream>

#include "api/error.hpp"

namespace Catch {

template <class T>
struct StringMaker<api::Result<T>> {
    static std::string convert(const api::Result<T>& result) {
        std::ostringstream out;
        if (!result)
            out << "Error{" << result.error() << "}";
        else if constexpr (std::is_void_v<T>)
            out << "ok";
        else
            out << StringMaker<T>::convert(*result);
        return out.str();
    }
};

}  // namespace Catch
