// How pages of a scan grow.

import Testing

@testable import PostgresStorage

@Suite struct PageSizeTests {
    @Test func pagesOfSmallRowsGrowToABound() {
        var size = PageSize()
        var sizes: [Int] = []
        for _ in 0..<5 {
            sizes.append(size.rows)
            size.grow(after: size.rows * 100)
        }
        #expect(sizes == [16, 64, 256, 1_024, 1_024])
    }

    @Test func pagesOfLargeRowsStaySmall() {
        var size = PageSize()
        size.grow(after: size.rows * 200_000)
        #expect(size.rows == 5)
        size.grow(after: size.rows * 3 << 20)
        #expect(size.rows == 1)
        size.grow(after: 0)
        #expect(size.rows == 4)
    }
}
