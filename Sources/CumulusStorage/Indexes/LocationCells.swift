// Places on Earth along a space-filling curve: near places often have near numbers.
//
// Each stored place becomes a cell, which is part of a key. Queries for near places ask for the
// ranges of cells to read. The numbers of cells are on disks and must not change; the choice of
// ranges may. The ranges miss no place that `GreatCircle` finds near enough; the caller leaves out
// the other places in them.

package import CumulusModel
import CumulusSystem

package enum LocationCells {
    /// The number of the cell in which a place lies.
    ///
    /// The number interleaves 32 bits of longitude and latitude, the western and southern half
    /// first. Degrees beyond the valid range go to the nearest cell, NaN to the first.
    package static func cell(of place: Location) -> UInt64 {
        number(column: column(place.longitude), row: row(place.latitude))
    }

    /// Cells that hold every place on Earth within `metres` of `center`.
    ///
    /// The ranges ascend with gaps between them; there are at most `maxRanges`.
    package static func cover(
        _ center: Location,
        metres: Double,
        maxRanges: Int = 16
    ) -> [ClosedRange<UInt64>] {
        guard metres >= 0 else { return [] }
        let angle = metres / GreatCircle.radius + margin
        guard angle < .pi - antipode, isOnEarth(center) else { return [0...UInt64.max] }
        let boxes = boxes(around: center, angle: angle)
        let ranges = squares(covering: boxes).map(\.cells)
        return joined(ranges.sorted { $0.lowerBound < $1.lowerBound }, to: maxRanges)
    }

    // MARK: Degrees

    /// An upper bound for the rounding errors of `GreatCircle` and the boxes, in radians: 6 cm.
    private static let margin = 1e-8

    /// Rounding may cost more this close to the antipode, in radians: 64 m.
    private static let antipode = 1e-5

    /// Monotonic in the degrees, whatever the rounding: a box holds the cells of its places.
    private static func column(_ longitude: Double) -> UInt32 {
        step(longitude / 360 + 0.5)
    }

    private static func row(_ latitude: Double) -> UInt32 {
        step(latitude / 180 + 0.5)
    }

    /// Maps a part from 0 to 1 to one of 2^32 steps.
    private static func step(_ part: Double) -> UInt32 {
        let step = part * 0x1p32
        guard step < 0x1p32 else { return step.isNaN ? 0 : .max }
        return step > 0 ? UInt32(step) : 0
    }

    private static func isOnEarth(_ place: Location) -> Bool {
        abs(place.latitude) <= 90 && abs(place.longitude) <= 180
    }

    /// The box around a circle, or two if it lies across the 180th meridian.
    private static func boxes(around center: Location, angle: Double) -> [Box] {
        let height = degrees(angle)
        let (south, north) = (center.latitude - height, center.latitude + height)
        let rows = row(south)...row(north)
        // A circle around a pole touches all meridians.
        guard south > -90, north < 90 else { return [Box(columns: 0...UInt32.max, rows: rows)] }
        // The circle is widest where a meridian touches it, which is nearer to the pole.
        let widest = sin(angle) / cos(center.latitude * .pi / 180)
        // Rounding errors grow where the sine is near 1.
        let width = degrees(asin(min(1, widest)) + 10 * margin)
        return columns(west: center.longitude - width, east: center.longitude + width).map {
            Box(columns: $0, rows: rows)
        }
    }

    private static func columns(west: Double, east: Double) -> [ClosedRange<UInt32>] {
        if west <= -180 { return [0...column(east), column(west + 360)...UInt32.max] }
        if east >= 180 { return [0...column(east - 360), column(west)...UInt32.max] }
        return [column(west)...column(east)]
    }

    private static func degrees(_ radians: Double) -> Double {
        radians * 180 / .pi
    }

    // MARK: Squares

    /// A bound for the cost: at most this many squares are split at a time.
    private static let mostParted = 64

    /// Smaller squares do not get a range of their own: 256 cells wide, about 2 m.
    private static let smallestBits = 8

    /// Squares that cover the boxes: big ones inside, smaller ones along the borders.
    private static func squares(covering boxes: [Box]) -> [Square] {
        var inside: [Square] = []
        var border = [Square.whole]
        var bits = Square.whole.bits
        while !border.isEmpty, border.count <= mostParted, bits > smallestBits {
            let near = border.flatMap(\.quarters).filter { boxes.contains(where: $0.touches) }
            inside += near.filter { boxes.contains(where: $0.isInside) }
            border = near.filter { !boxes.contains(where: $0.isInside) }
            bits -= 1
        }
        return inside + border
    }

    // MARK: Ranges

    /// Merges ranges until few are left; only the widest gaps stay.
    private static func joined(
        _ ranges: [ClosedRange<UInt64>],
        to most: Int
    ) -> [ClosedRange<UInt64>] {
        let gaps = zip(ranges, ranges.dropFirst()).map {
            Gap(from: $0.upperBound, to: $1.lowerBound)
        }
        let widest = gaps.filter { $0.width > 0 }.sorted { $0.width > $1.width }
        let kept = widest.prefix(max(most, 1) - 1).sorted { $0.from < $1.from }
        guard let first = ranges.first, let last = ranges.last else { return [] }
        let starts = [first.lowerBound] + kept.map(\.to)
        let ends = kept.map(\.from) + [last.upperBound]
        return zip(starts, ends).map { $0...$1 }
    }

    /// The gap between the last cell of a range and the first of the next.
    private struct Gap {
        let from: UInt64
        let to: UInt64

        var width: UInt64 { to - from - 1 }
    }

    // MARK: The curve

    private static func number(column: UInt32, row: UInt32) -> UInt64 {
        spread(column) << 1 | spread(row)
    }

    /// Inserts a 0 before each bit.
    private static func spread(_ bits: UInt32) -> UInt64 {
        var spread = UInt64(bits)
        spread = (spread | spread << 16) & 0x0000_FFFF_0000_FFFF
        spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FF
        spread = (spread | spread << 4) & 0x0F0F_0F0F_0F0F_0F0F
        spread = (spread | spread << 2) & 0x3333_3333_3333_3333
        return (spread | spread << 1) & 0x5555_5555_5555_5555
    }

    private struct Box {
        let columns: ClosedRange<UInt32>
        let rows: ClosedRange<UInt32>
    }

    /// 2^bits columns and as many rows, which are contiguous along the curve.
    private struct Square {
        let column: UInt32
        let row: UInt32
        let bits: UInt32

        static let whole = Square(column: 0, row: 0, bits: 32)

        /// The last column and row, counted from the first.
        private var last: UInt32 { (1 << bits) &- 1 }
        private var columns: ClosedRange<UInt32> { column...(column | last) }
        private var rows: ClosedRange<UInt32> { row...(row | last) }

        var cells: ClosedRange<UInt64> {
            let first = number(column: column, row: row)
            return first...(first | ((1 << (2 * bits)) &- 1))
        }

        /// Must not be called for a single cell.
        var quarters: [Square] {
            let half = UInt32(1) << (bits - 1)
            return [(0, 0), (0, half), (half, 0), (half, half)].map {
                Square(column: column | $0.0, row: row | $0.1, bits: bits - 1)
            }
        }

        func touches(_ box: Box) -> Bool {
            columns.overlaps(box.columns) && rows.overlaps(box.rows)
        }

        func isInside(_ box: Box) -> Bool {
            box.columns.contains(columns) && box.rows.contains(rows)
        }
    }
}
