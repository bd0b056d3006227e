// The second storage seam: packs are files of chunks that are written once and removed as a whole.
//
// Rows of the store say what a pack contains. `PackDirectory` implements the seam on a disk,
// `SQLPacks` in a database, `MemoryPacks` for tests and the simulator. Every call blocks, so
// callers run on threads of their own. Many chunks share a file because each file costs two
// flushes.
//
// They promise:
// - `write` is durable when it returns; no row ever names what a failed `write` left;
// - what was written is read until it is removed.

package import CumulusModel
import Synchronization

package enum PackError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The disk has no room.
    case full
    /// Any other failure, in words.
    case failed(String)

    package var description: String {
        switch self {
        case .full: "the disk is full"
        case .failed(let why): why
        }
    }
}

package protocol PackFiles: Sendable {
    /// Writes these pieces, one after the other, as a new pack; it is durable when this returns.
    func write(_ pack: PackNumber, _ pieces: [ArraySlice<UInt8>]) throws(PackError)

    /// Reads part of a pack; nil if the pack is missing, too short, or lost by the disk.
    ///
    /// Throws if a later attempt may succeed.
    func read(_ pack: PackNumber, _ range: Range<Int>) throws(PackError) -> Bytes?

    /// Removes a pack, if it exists.
    ///
    /// - Returns: The number of bytes that the pack had.
    @discardableResult func remove(_ pack: PackNumber) -> Int

    /// The size of each existing pack.
    func all() throws(PackError) -> [PackNumber: Int]

    /// The run that created these packs; the store's own row must say the same.
    ///
    /// nil means that no store uses them yet. The comparison detects a missing or wrong disk.
    func origin() throws(PackError) -> Incarnation?

    /// Sets the origin; it is durable when this returns.
    func setOrigin(_ run: Incarnation) throws(PackError)

    /// Makes a directory that holds all existing packs and their origin.
    func copy(to directory: String) throws(PackError)
}

/// Packs in memory, which vanish with the process.
package final class MemoryPacks: PackFiles {
    private let packs: Mutex<[PackNumber: Bytes]>
    private let begun: Mutex<Incarnation?>

    package init(_ packs: [PackNumber: Bytes] = [:]) {
        self.packs = Mutex(packs)
        begun = Mutex(nil)
    }

    /// Copies the current packs of `other`, for a store that is opened again.
    package init(copying other: MemoryPacks) {
        packs = Mutex(other.content)
        begun = Mutex(other.begun.withLock { $0 })
    }

    /// All packs with their bytes.
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
