internal import CCurl

extension CURLcode {
    /// For calls that fail only when libcurl cannot do what was asked, or has no memory left.
    func check() throws(FetchFailure) {
        guard self == CURLE_OK else { throw FetchFailure(.machine, String(cString: curl_easy_strerror(self))) }
    }
}

extension CURLMcode {
    func check() throws(FetchFailure) {
        guard self == CURLM_OK else { throw FetchFailure(.machine, String(cString: curl_multi_strerror(self))) }
    }
}
