// Package parquet writes tables of flat columns as Apache Parquet files, row by row, keeping one group of rows in memory. It owns the form of the
// file: pages in the plain encoding, compressed with gzip, which all readers know; texts, numbers, truths, times in microseconds and money in billionths.
//
// It must not know what the columns mean. It reads no files.
package parquet
