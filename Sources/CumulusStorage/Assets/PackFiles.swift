// The second storage seam: packs, files of chunks that are written once, whole, and removed whole.
//
// What lies in a pack is told by rows of the store. Behind the seam stand `PackDirectory` on a disk
// and `MemoryPacks` for tests and the simulator. All of it blocks; callers are threads of their
// own. Many chunks share a file because each file costs two flushes.
//
// They promise:
// - `write` is durable when it returns; what it left when it threw is never named by a row;
// - what was written is read until it is removed.

package import CumulusModel
import Synchronization

package enum PackError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The disk has no room for it.
    case full
    /// In words.
    case failed(String)

    package var description: String {
        switch self {
        case .full: "the disk is full"
        case .failed(let why): why
        }
    }
}

package protocol PackFiles: Sendable {
    /// Makes a pack of these pieces, one behind the other; durable when it returns.
    func write(_ pack: PackNumber, _ pieces: [ArraySlice<UInt8>]) throws(PackError)

    /// Part of a pack; nil if it isn't there, is shorter, or the disk has lost it.
    ///
    /// Throws where it may be read later.
    func read(_ pack: PackNumber, _ range: Range<Int>) throws(PackError) -> Bytes?

    /// Removes a pack, if it is there.
    ///
    /// - Returns: The bytes that it had.
    @discardableResult func remove(_ pack: PackNumber) -> Int

    /// The bytes of each pack that is there.
    func all() throws(PackError) -> [PackNumber: Int]

    /// Which store's packs these are: the run that began them, as the store's own row says too.
    ///
    /// nil means nobody's so far. Who mounts another disk, or none, is noticed by it.
    func origin() throws(PackError) -> Incarnation?

    /// Says whose they are; durable when it returns.
    func setOrigin(_ run: Incarnation) throws(PackError)

    /// Makes a directory that holds all packs that are there, and their origin.
    func copy(to directory: String) throws(PackError)
}

/// Packs that are gone when the process ends.
package final class MemoryPacks: PackFiles {
    private let packs: Mutex<[PackNumber: Bytes]>
    private let begun: Mutex<Incarnation?>

    package init(_ packs: [PackNumber: Bytes] = [:]) {
        self.packs = Mutex(packs)
        begun = Mutex(nil)
    }

    /// All that is in others now, for a store that is opened again.
    package init(copying other: MemoryPacks) {
        packs = Mutex(other.content)
        begun = Mutex(other.begun.withLock { $0 })
    }

    /// All that is in it.
    package var content: [PackNumber: Bytes] { packs.withLock { $0 } }

    package func write(_ pack: PackNumber, _ pieces: [ArraySlice<UInt8>]) throws(PackError) {
        packs.withLock { $0[pack] = Bytes(pieces.joined()) }
    }

    package func read(_ pack: PackNumber, _ range: Range<Int>) throws(PackError) -> Bytes? {
        packs.withLock { packs in
            guard let bytes = packs[pack], range.upperBound <= bytes.count else { return nil }
            return Bytes(bytes[range])
        }
    }

    @discardableResult package func remove(_ pack: PackNumber) -> Int {
        packs.withLock { $0.removeValue(forKey: pack)?.count ?? 0 }
    }

    package func all() throws(PackError) -> [PackNumber: Int] {
        packs.withLock { $0.mapValues(\.count) }
    }

    package func origin() throws(PackError) -> Incarnation? { begun.withLock { $0 } }

    package func setOrigin(_ run: Incarnation) throws(PackError) { begun.withLock { $0 = run } }

    package func copy(to directory: String) throws(PackError) {
        throw .failed("these packs are in memory only")
    }
}
