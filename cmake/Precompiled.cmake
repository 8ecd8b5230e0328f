# Precompiles headers that many sources of the sanitized builds share, once per build: those of the standard library, of Asio and of
# Catch2. The release build does not use them.
#
#   share_precompiled(target std|asio|catch2|asio_catch2)
set(precompiled_of_std
    <algorithm> <charconv> <chrono> <functional> <map> <memory> <optional> <set> <span> <string> <string_view> <variant> <vector>)
set(precompiled_of_asio
    <boost/asio/any_io_executor.hpp> <boost/asio/as_tuple.hpp> <boost/asio/awaitable.hpp> <boost/asio/bind_cancellation_slot.hpp>
    <boost/asio/co_spawn.hpp> <boost/asio/detached.hpp> <boost/asio/experimental/awaitable_operators.hpp>
    <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp> <boost/asio/steady_timer.hpp> <boost/asio/use_awaitable.hpp>)
set(precompiled_of_catch2 <catch2/catch.hpp>)
set(precompiled_of_asio_catch2 ${precompiled_of_asio} ${precompiled_of_catch2})

function(share_precompiled target headers)
    if(NOT CMAKE_BUILD_TYPE STREQUAL Debug OR NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
        return()
    endif()
    set(owner precompiled_${headers})
    if(NOT TARGET ${owner})
        file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${owner}.cpp CONTENT "")
        add_library(${owner} OBJECT ${PROJECT_BINARY_DIR}/${owner}.cpp)
        target_link_libraries(${owner} PRIVATE project_options)
        if(headers MATCHES catch2)
            target_compile_definitions(${owner} PRIVATE CATCH_CONFIG_ENABLE_ALL_STRINGMAKERS)
        endif()
        target_precompile_headers(${owner} PRIVATE ${precompiled_of_${headers}})
    endif()
    target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
