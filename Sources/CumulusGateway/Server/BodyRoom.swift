// The memory that bodies and files may take, all together, and the part that one request has.
//
// Held by `HTTPServer`. A part grows with the bytes that have come, whatever a request says of its
// length: so callers that announce much and send little take no room from others.

import Synchronization

/// The bytes of bodies that may be in memory at once.
final class BodyRoom: Sendable {
    private let free: Mutex<Int>

    init(_ bytes: Int) { free = Mutex(bytes) }

    /// Returns false if there is no room.
    fileprivate func take(_ count: Int) -> Bool {
        free.withLock { free in
            guard count <= free else { return false }
            free -= count
            return true
        }
    }

    fileprivate func give(_ count: Int) { free.withLock { $0 += count } }
}

/// One request's part of the room, given back when it is released.
final class RoomPart: Sendable {
    private let room: BodyRoom
    private let held = Mutex(0)

    init(of room: BodyRoom) { self.room = room }

    /// Makes it so many bytes larger, up to a limit; throws if there is no room.
    func grow(by count: Int, upTo limit: Int = .max) throws(WebError) {
        let isThere = held.withLock { held in
            let count = min(count, limit - held)
            guard room.take(count) else { return false }
            held += count
            return true
        }
        guard isThere else { throw HTTPServer.full }
    }

    deinit { room.give(held.withLock { $0 }) }
}
