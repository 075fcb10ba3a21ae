/* Lines from the user: edited with history where the terminal allows, else as they come.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_CLI_LINE_H
#define WEFT_CLI_LINE_H

typedef struct line_reader line_reader;

/* NULL when out of memory. */
line_reader *line_open(const char *prompt);
void line_close(line_reader *r);

typedef enum line_result { LINE_OK, LINE_END, LINE_INTERRUPTED } line_result;
/* The next line without its newline, the reader's until the next call. */
line_result line_read(line_reader *r, char **line);

#endif
