// Log lines as JSON, one object for each line: time, level, message and metadata.
//
// `cumulusd --log-format json` uses it, for collectors that read lines of a container or of the
// journal. Text is escaped, so a line never ends early.

import CumulusModel
package import Logging

package struct JSONLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var logLevel = Logger.Level.info
    /// Milliseconds since 1970 UTC.
    private let now: @Sendable () -> Int64
    private let write: @Sendable (_ line: String) -> Void

    /// - Parameter write: Takes a line with its end; called by any thread.
    package init(
        now: @escaping @Sendable () -> Int64,
        write: @escaping @Sendable (_ line: String) -> Void
    ) {
        self.now = now
        self.write = write
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        var members = [
            JSON.Member("time", .string(Timestamp(millisecondsSince1970: now()).text)),
            JSON.Member("level", .string(event.level.rawValue)),
            JSON.Member("message", .string(event.message.description)),
        ]
        if let error = event.error { members.append(JSON.Member("error", .string("\(error)"))) }
        members.append(JSON.Member("metadata", JSONLogHandler.object(all)))
        write(JSON.object(members).text + "\n")
    }

    private static func object(_ metadata: Logger.Metadata) -> JSON {
        .object(
            metadata.sorted { $0.key < $1.key }.map { JSON.Member($0.key, value($0.value)) }
        )
    }

    private static func value(_ value: Logger.MetadataValue) -> JSON {
        switch value {
        case .string(let text): .string(text)
        case .stringConvertible(let value): .string(value.description)
        case .dictionary(let metadata): object(metadata)
        case .array(let values): .array(values.map { JSONLogHandler.value($0) })
        }
    }
}
