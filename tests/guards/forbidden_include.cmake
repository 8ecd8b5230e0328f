# Checks that an include against the dependency arrows does not compile: for each pair, a file with the lower library's include
# path and the upper library's header must fail, and must pass with the upper library's own path.
#
#   cmake -DCOMPILER=g++ -DROOT=<source> -P forbidden_include.cmake
set(pairs "merge:runtime/build.hpp" "lifecycle:runtime/build.hpp" "runtime:kube/client/request.hpp" "net:kube/client/request.hpp"
    "kube:offline/documents.hpp" "kube:controller/cache/cache.hpp" "admission:controller/cache/cache.hpp"
    "progress:runtime/build.hpp" "crd:kube/client/request.hpp" "controller:admission/handler.hpp" "offline:runtime/build.hpp")
set(includes_of_merge api merge)
set(includes_of_lifecycle api lifecycle)
set(includes_of_runtime api merge runtime)
set(includes_of_net api net)
set(includes_of_kube api net kube)
set(includes_of_controller api merge lifecycle runtime net kube controller)
set(includes_of_admission api merge lifecycle runtime net kube admission)
set(includes_of_crd api crd)
set(includes_of_progress api net kube progress)
set(includes_of_offline api crd merge net kube offline)

function(compiles header result)
    set(flags)
    foreach(lib ${ARGN})
        list(APPEND flags -I${ROOT}/libs/${lib}/include)
    endforeach()
    execute_process(
        COMMAND ${COMPILER} -std=c++20 -fsyntax-only ${flags} -include ${header} -x c++ /dev/null
        RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
    set(${result} ${code} PARENT_SCOPE)
endfunction()

foreach(pair ${pairs})
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 lower)
    list(GET pair 1 header)
    string(REGEX REPLACE "/.*" "" upper ${header})
    compiles(${header} forbidden ${includes_of_${lower}})
    compiles(${header} wanted ${includes_of_${upper}})
    if(forbidden EQUAL 0 OR NOT wanted EQUAL 0)
        message(FATAL_ERROR "libs/${lower} and <${header}>: as ${lower} ${forbidden} (want failure), as ${upper} ${wanted} (want 0)")
    endif()
    message(STATUS "libs/${lower} cannot include <${header}>")
endforeach()
