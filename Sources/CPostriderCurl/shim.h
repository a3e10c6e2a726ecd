// libcurl, and one-line shims for its variadic functions, which Swift cannot call.
#pragma once
#include <curl/curl.h>

static inline CURLcode CCurl_set_number(CURL *transfer, CURLoption option, long value)
{
    return curl_easy_setopt(transfer, option, value);
}

static inline CURLcode CCurl_set_text(CURL *transfer, CURLoption option, const char *value)
{
    return curl_easy_setopt(transfer, option, value);
}

static inline CURLcode CCurl_set_fields(CURL *transfer, struct curl_slist *fields)
{
    return curl_easy_setopt(transfer, CURLOPT_HTTPHEADER, fields);
}

static inline CURLcode CCurl_set_writer(CURL *transfer, curl_write_callback writer)
{
    return curl_easy_setopt(transfer, CURLOPT_WRITEFUNCTION, writer);
}

static inline CURLcode CCurl_get_status(CURL *transfer, long *status)
{
    return curl_easy_getinfo(transfer, CURLINFO_RESPONSE_CODE, status);
}

static inline CURLMcode CCurl_set_bound(CURLM *transfers, CURLMoption option, long value)
{
    return curl_multi_setopt(transfers, option, value);
}

static inline CURLcode CCurl_result(const CURLMsg *message)
{
    return message->data.result;
}
