// SPDX-License-Identifier: Apache-2.0

// Command duckdb runs the SQL of its standard input in DuckDB, and prints the rows of the last statement as CSV. It is in a module of
// its own, because the driver of DuckDB contains the database as a library of more than 60 MB.
package main

import (
	"context"
	"database/sql"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"
)

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	statements, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(ctx, string(statements))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	w := csv.NewWriter(out)
	_ = w.Write(columns) // Flush keeps the error
	values, texts := make([]any, len(columns)), make([]string, len(columns))
	for i := range values {
		values[i] = new(any)
	}
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			return err
		}
		for i, value := range values {
			texts[i] = text(*value.(*any))
		}
		_ = w.Write(texts)
	}
	w.Flush()
	if err := rows.Err(); err != nil {
		return err
	}
	return w.Error()
}

func text(value any) string {
	if at, ok := value.(time.Time); ok {
		return at.UTC().Format(time.RFC3339)
	}
	return strings.Trim(fmt.Sprint(value), `"`)
}
