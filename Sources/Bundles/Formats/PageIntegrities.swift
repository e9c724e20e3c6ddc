extension Manifest {
    /// One `integrity` attribute, as whoever reads the page finds it.
    package struct IntegrityAttribute: Sendable, Equatable {
        /// What `src` or `href` of the same tag stands for.
        package var url: String
        package var integrity: String

        package init(url: String, integrity: String) {
            self.url = url
            self.integrity = integrity
        }
    }

    /// What the `integrity` attributes of a page's scripts, style sheets and preloads say. A body has to meet all that
    /// are said of its URL, each as a browser does: the strongest algorithm counts, and what is malformed matches
    /// nothing.
    package init(attributes: [IntegrityAttribute]) {
        var places: [String: Int] = [:]
        var bundles: [Bundle] = []
        for attribute in attributes.prefix(ManifestLimits.bundleCount) {
            let claim = Claim(Integrity(attribute.integrity))
            let place = places[attribute.url, default: bundles.count]
            if place == bundles.count {
                places[attribute.url] = place
                bundles.append(Bundle(reference: attribute.url, claims: []))
            }
            if !bundles[place].claims.contains(claim) { bundles[place].claims.append(claim) }
        }
        self.init(.larder, bundles: bundles)
    }
}
