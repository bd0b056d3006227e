// How many requests may be on their way to one endpoint at the same time, from all users together.
//
// `WebhookCourier` asks it around each request. Waiting couriers get their turns in the order in
// which they came.

import Synchronization

final class WebhookTurns: Sendable {
    private struct Line {
        var open = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// The most requests that are open to one endpoint.
    private static let mostOpen = 8

    private let lines = Mutex<[String: Line]>([:])

    /// Waits for a turn; the caller gives it back, also when its task is cancelled.
    func take(_ webhook: String) async {
        await withCheckedContinuation { continuation in
            let isFree = lines.withLock { lines in
                var line = lines[webhook, default: Line()]
                defer { lines[webhook] = line }
                if line.open < WebhookTurns.mostOpen {
                    line.open += 1
                    return true
                }
                line.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    func giveBack(_ webhook: String) {
        let next = lines.withLock { lines -> CheckedContinuation<Void, Never>? in
            guard let line = lines[webhook] else { return nil }
            if line.waiting.isEmpty {
                lines[webhook]?.open -= 1
                return nil
            }
            return lines[webhook]?.waiting.removeFirst()
        }
        next?.resume()
    }
}
