// Something that is made from files, and made again when they change.
//
// Looked at whenever it is needed: a file that was renewed counts from the next use on. Somebody is
// told so, or that the new files can't be used and the old state stays.

import CumulusSystem
import Synchronization

/// Called after files were renewed, with the reason why they can't be used; nil means they are in
/// use.
package typealias Renewal = @Sendable (_ problem: String?) -> Void

package final class WatchedFiles<Value: Sendable>: Sendable {
    /// Distinguishes a file from an earlier one with the same name.
    private struct Mark: Equatable {
        var inode: UInt64
        var size: Int64
        var seconds: Int
        var nanoseconds: Int
    }

    private struct State {
        var value: Value
        var marks: [Mark?]
    }

    private let files: [String]
    private let make: @Sendable () throws -> Value
    private let onRenewal: Renewal
    private let state: Mutex<State>

    /// - Parameter onRenewal: Told when files have changed.
    package init(
        _ files: [String],
        onRenewal: @escaping Renewal = { _ in },
        make: @escaping @Sendable () throws -> Value
    ) throws {
        self.files = files
        self.make = make
        self.onRenewal = onRenewal
        let marks = files.map(WatchedFiles.mark)
        state = Mutex(State(value: try make(), marks: marks))
    }

    package var current: Value {
        let marks = files.map(WatchedFiles.mark)
        return state.withLock { state in
            guard state.marks != marks else { return state.value }
            state.marks = marks
            do {
                state.value = try make()
                onRenewal(nil)
            } catch {
                onRenewal("\(error)")
            }
            return state.value
        }
    }

    private static func mark(_ file: String) -> Mark? {
        var status = stat()
        guard stat(file, &status) == 0 else { return nil }
        #if os(Linux)
            let time = status.st_mtim
        #else
            let time = status.st_mtimespec
        #endif
        return Mark(
            inode: UInt64(status.st_ino),
            size: Int64(status.st_size),
            seconds: time.tv_sec,
            nanoseconds: time.tv_nsec
        )
    }
}
