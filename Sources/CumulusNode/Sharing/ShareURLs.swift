// The URLs of shares: a prefix that the operator chooses, "/share/" and 22 characters that only the
// cluster's nodes can make.
//
// Asked where a share is shown, and where a call names one by its URL.

import CumulusModel
import CumulusOperations
import CumulusStorage

struct ShareURLs: Sendable {
    /// The prefix without a slash at its end.
    let prefix: String
    /// Only the cluster's nodes have it.
    let secret: Bytes

    /// The URL of a share by its record; empty for a record that is not a share's.
    func url(of record: RecordView) -> String {
        guard let share = record.sharing?.share else { return "" }
        let key = ShareURLKey(secret: secret)
        // A block of 16 bytes is always enciphered.
        guard let url = try? key.url(of: ShareID(bytes: share)) else { return "" }
        return "\(prefix)/share/\(url.text)"
    }

    /// The share that a URL names; it may not exist.
    ///
    /// Other nodes may have other prefixes, so only the last part counts.
    func share(at url: Bytes) throws -> ShareID {
        let text = try Names.checkText(url[...], "URL of a share")
        guard let end = ShareURL(text: text) else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                """
                '\(text)' is not the URL of a share, which ends in /share/ and 22 letters, digits, \
                '-' and '_'; paste all of it, with capital letters as they are
                """
            )
        }
        return try ShareURLKey(secret: secret).share(of: end)
    }
}

extension Node {
    var shareURLs: ShareURLs {
        ShareURLs(prefix: configuration.shareURL, secret: configuration.clusterKey ?? clusterID)
    }
}
