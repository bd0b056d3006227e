// Follows an upload or a download of assets with a progress bar, and says at the end what travelled
// and what the other side had.

import Cumulus
import CumulusSystem
import CumulusTerminal

final class AssetTransfer: Sendable {
    private let progress = AssetProgress()
    private let began = ContinuousClock.now

    /// Runs a transfer and draws how far it is.
    func following<Value: Sendable>(
        _ transfer: (AssetProgress) async throws -> Value
    ) async throws -> Value {
        let drawing = Task { [progress] in
            var bar = ProgressBar(total: nil)
            for await step in progress { bar.update(step) }
            bar.clear()
        }
        let result = await Result { try await transfer(progress) }
        drawing.cancel()
        await drawing.value
        return try result.get()
    }

    private var seconds: Double { (ContinuousClock.now - began) / .seconds(1) }

    /// "12.3 MB of 1.0 GB sent in 0.4 s; the other 988 MB were there".
    func text(_ verb: String) -> String {
        let step = progress.latest
        let travelled = ByteCount.text(step.transferredBytes)
        let time = seconds.text(digits: 1) + " s"
        let all = "\(ByteCount.text(step.totalBytes)) in \(time): \(travelled) \(verb)"
        return step.skippedBytes == 0
            ? all : "\(all), \(ByteCount.text(step.skippedBytes)) were there already"
    }

    var members: [JSON.Member] {
        let step = progress.latest
        return [
            JSON.Member("bytes", .integer(Int64(clamping: step.totalBytes))),
            JSON.Member("transferredBytes", .integer(Int64(clamping: step.transferredBytes))),
            JSON.Member("skippedBytes", .integer(Int64(clamping: step.skippedBytes))),
            JSON.Member("chunks", .integer(Int64(step.totalChunks))),
            JSON.Member("seconds", .decimal(seconds)),
        ]
    }
}

extension ProgressBar {
    /// Draws a transfer anew, at most ten times a second.
    mutating func update(_ step: AssetProgress.Step) {
        let skipped =
            step.skippedBytes == 0 ? "" : "  \(ByteCount.text(step.skippedBytes)) skipped"
        update(step.completedBytes, of: step.totalBytes, skipped)
    }

    mutating func update(_ bytes: UInt64, of total: UInt64, _ note: String = "") {
        let seconds = seconds
        draw(ProgressBar.line(bytes, of: total, note, seconds: seconds))
    }

    static func line(
        _ bytes: UInt64,
        of total: UInt64,
        _ note: String,
        seconds: Double
    ) -> String {
        let rate = seconds > 0 ? UInt64(Double(bytes) / seconds) : 0
        let count = "\(ByteCount.text(bytes)) of \(ByteCount.text(total))"
        return bar(
            Double(bytes) / Double(max(1, total)),
            "\(count)  \(ByteCount.text(rate))/s\(note)",
            seconds: seconds
        )
    }
}
