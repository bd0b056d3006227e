// How many requests may be on their way to one endpoint at the same time, from all users together.
//
// `WebhookCourier` and `PushCourier` ask it around each request. Waiting couriers get their turns
// in the order in which they came.

import Synchronization

final class WebhookTurns: Sendable {
    private struct Line {
        var open = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// The most requests that are open to one endpoint.
    private let mostOpen: Int
    private let lines = Mutex<[String: Line]>([:])

    init(mostOpen: Int = 8) { self.mostOpen = mostOpen }

    /// Waits for a turn; the caller gives it back, also when its task is cancelled.
    func take(_ endpoint: String) async {
        await withCheckedContinuation { continuation in
            let isFree = lines.withLock { lines in
                var line = lines[endpoint, default: Line()]
                defer { lines[endpoint] = line }
                if line.open < mostOpen {
                    line.open += 1
                    return true
                }
                line.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    func giveBack(_ endpoint: String) {
        let next = lines.withLock { lines -> CheckedContinuation<Void, Never>? in
            guard let line = lines[endpoint] else { return nil }
            if line.waiting.isEmpty {
                lines[endpoint]?.open -= 1
                return nil
            }
            return lines[endpoint]?.waiting.removeFirst()
        }
        next?.resume()
    }
}
