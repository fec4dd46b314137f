// Nothing but the owner of the libraries' precompiled headers (cmake/precompiled.cmake).
