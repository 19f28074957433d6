/**
 * @file sanitizers.h Defines DSGD_ADDRESS_SANITIZER or DSGD_THREAD_SANITIZER if this code is
 * compiled with that sanitizer. GCC and clang report the sanitizer in different ways.
 */
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DSGD_ADDRESS_SANITIZER
#elif __has_feature(thread_sanitizer)
#define DSGD_THREAD_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define DSGD_ADDRESS_SANITIZER
#elif defined(__SANITIZE_THREAD__)
#define DSGD_THREAD_SANITIZER
#endif
