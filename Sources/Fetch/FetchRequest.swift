package import Web

/// One request that the loop is to make. The number comes back with the result.
package struct FetchRequest: Sendable {
    package var number: UInt32
    package var url: WebURL
    /// They win over what `FetchOptions` has for the host.
    package var fields: HTTPFields
    package var method = "GET"
    /// Sent along, whatever the method.
    package var body: [UInt8]?
    /// The body stays as it was sent, with its content coding.
    package var keepsCoding = false
    /// The page that led here. Only `FetchOptions.sendsReferrer` makes a Referer of it.
    package var referrer: WebURL?
    /// Tells nobody who larder is: neither cookies nor logins, no client certificate, and no fields that are for its host.
    /// Cookies that come with its answer are not kept.
    package var isAnonymous = false
    /// Whoever follows a link sets it to where the page with the link came from.
    package var reach = Reach.thisMachine
    /// Asks for the rest of this body only. Its file is the loop's until the result tells what became of it.
    package var resume: PartialBody?
    /// Told what comes before the answer, such as 103 Early Hints, on the thread of the loop. A 100 and a 101 are between
    /// neighbours alone.
    package var interim: (@Sendable (_ status: Int, _ fields: HTTPFields) -> Void)?

    package init(number: UInt32, url: WebURL, fields: HTTPFields = HTTPFields()) {
        self.number = number
        self.url = url
        self.fields = fields
    }
}
