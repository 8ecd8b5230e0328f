#pragma once
// Prints our types in failed checks of Catch. Include after <catch2/catch.hpp>.
#include <catch2/catch.hpp>
#include <sstream>

#include "api/condition.hpp"
#include "api/error.hpp"
#include "api/field_error.hpp"
#include "api/object_key.hpp"
#include "api/train_job.hpp"

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

// Catch would otherwise print a Json as the range of its members.
template <>
struct StringMaker<api::Json> {
    static std::string convert(const api::Json& value) { return api::to_json(value); }
};

template <>
struct StringMaker<api::Time> {
    static std::string convert(api::Time time) { return api::format_time(time); }
};

template <>
struct StringMaker<api::ObjectKey> {
    static std::string convert(const api::ObjectKey& key) { return api::to_string(key); }
};

template <>
struct StringMaker<api::Condition> {
    static std::string convert(const api::Condition& condition) {
        return api::to_json(api::to_json_tree(condition));
    }
};

template <>
struct StringMaker<api::JobStatus> {
    static std::string convert(const api::JobStatus& job) {
        return api::to_json(api::to_json_tree(std::vector{job}));
    }
};

template <>
struct StringMaker<api::RuntimeRef> {
    static std::string convert(const api::RuntimeRef& ref) {
        return ref.api_group + "/" + ref.kind + "/" + ref.name;
    }
};

template <>
struct StringMaker<api::FieldError> {
    static std::string convert(const api::FieldError& error) {
        return api::describe(api::FieldErrors{error});
    }
};

}  // namespace Catch
