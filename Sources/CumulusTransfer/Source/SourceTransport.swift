// The seam to the network: one request, one answer; and files, piece by piece.
//
// `SourceClient` decides what is asked and what follows an answer; `HTTPTransport` is the network,
// and tests have another.

package import CumulusModel

/// A request over HTTP: a GET without a body, else a POST.
package struct SourceAsk: Sendable {
    package var url: String
    package var headers: [(name: String, value: String)]
    package var body: String

    package init(url: String, headers: [(name: String, value: String)] = [], body: String = "") {
        self.url = url
        self.headers = headers
        self.body = body
    }
}

package struct SourceReply: Sendable {
    package var status: Int
    /// The header of that name: seconds to wait, or a date that is not read.
    package var retryAfter: String?
    /// The token that the service gives a user in place of the last one.
    package var renewedToken: String?
    /// The header of that name.
    package var date: String?
    package var body: Bytes

    package init(
        status: Int,
        retryAfter: String? = nil,
        renewedToken: String? = nil,
        date: String? = nil,
        body: Bytes = []
    ) {
        self.status = status
        self.retryAfter = retryAfter
        self.renewedToken = renewedToken
        self.date = date
        self.body = body
    }
}

extension SourceReply {
    /// Milliseconds since 1970 UTC by the service's clock; nil if it does not say.
    package var time: Int64? {
        let parts = (date ?? "").split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let day = Int(parts[1]),
            let month = SourceReply.months.firstIndex(of: String(parts[2])),
            let year = Int(parts[3]),
            (1...31).contains(day), (1970...9999).contains(year)
        else { return nil }
        let clock = parts[4].split(separator: ":").compactMap { Int($0) }
        guard clock.count == 3, clock.allSatisfy({ (0..<61).contains($0) }), clock[0] < 24 else {
            return nil
        }
        // Years begin in March, so that the day that some lack is the last.
        let (years, months) = month < 2 ? (year - 1, month + 10) : (year, month - 2)
        let days =
            years * 365 + years / 4 - years / 100 + years / 400 + (months * 306 + 5) / 10 + day
        let seconds = (days - 719_469) * 86_400 + clock[0] * 3_600 + clock[1] * 60 + clock[2]
        return Int64(seconds) * 1_000
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}

package protocol SourceTransport: Sendable {
    /// Throws if no answer came.
    func send(_ ask: SourceAsk) async throws -> SourceReply

    /// Gets a file; its pieces come in order, if the status is 200.
    func stream(_ url: String, to take: (Bytes) throws -> Void) async throws -> SourceReply

    func close() async
}
