// A moment as HTTP's field Date has it: `Tue, 14 Nov 2023 22:13:20 GMT`.
//
// Called by `HTTPServer` for each answer.

import CumulusModel
import Synchronization

enum HTTPDate {
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The date of the latest second, which is written once.
    final class Latest: Sendable {
        private let latest = Mutex((second: Int64.min, text: ""))

        /// - Parameter milliseconds: Milliseconds since 1970 UTC.
        func text(_ milliseconds: Int64) -> String {
            let second = milliseconds / 1_000
            return latest.withLock { latest in
                if latest.second != second { latest = (second, HTTPDate.text(milliseconds)) }
                return latest.text
            }
        }
    }

    /// - Parameter milliseconds: Milliseconds since 1970 UTC; an earlier time counts as 1970.
    static func text(_ milliseconds: Int64) -> String {
        let moment = Timestamp(millisecondsSince1970: max(0, milliseconds))
        // 1970 began on a Thursday.
        let weekday = Int(moment.millisecondsSince1970 / 86_400_000 + 4) % 7
        // 2023-11-14T22:13:20.000Z
        let parts = moment.text.split { "-T.".contains($0) }
        let month = (Int(parts[1]) ?? 1) - 1
        return "\(weekdays[weekday]), \(parts[2]) \(months[month]) \(parts[0]) \(parts[3]) GMT"
    }
}
